#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a wheel or a Debian package contains of other projects, as CycloneDX 1.5 in JSON, beside it.

    tools/make_sbom.py WHEEL_OR_DEB...

Lists the libraries in a wheel, and the packages of packages/library.txt and of the compiler whose code is compiled in: those that it
neither carries nor depends on as shared libraries. Run it where the package was built; versions and licences are those of dpkg.
Exit codes: 0 written, the paths on standard output; 2 cannot be, and why.
"""
import datetime
import fnmatch
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import urllib.parse
import zipfile

from make_wheel import CannotPack, library_packages, output_of

# Only declarations of these are used; the library is the system's, loaded where a command needs it.
LOADED_FROM_THE_SYSTEM = {"libmicrohttpd-dev", "libpq-dev"}
SPDX = {"expat": "MIT", "mit": "MIT", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
        "bsl-1.0": "BSL-1.0", "isc": "ISC", "zlib": "Zlib", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
        "lgpl-2.1+": "LGPL-2.1-or-later", "unicode": "Unicode-DFS-2016"}
# Their files in /usr/share/doc have no fields to read.
KNOWN = {"hwloc": "BSD-3-Clause", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1"}


def owners(pattern):
    return set(re.findall(r"^([a-z0-9.+-]+)[:,]", output_of("dpkg-query", "-S", pattern), re.MULTILINE))


def licence(text, source):
    """Returns CycloneDX's `licenses` of a Debian copyright file: the licence of its `Files: *`."""
    for name, expression in KNOWN.items():
        if re.fullmatch(rf"{name}(-\d+)?", source):
            return [{"expression": expression}]
    stanza = re.search(r"^Files: *\*$.*?^License:[ \t]*(\S[^\n]*)$", text, re.MULTILINE | re.DOTALL)
    if not stanza:
        return [{"license": {"name": f"see /usr/share/doc of Debian's source package {source}"}}]
    name = stanza[1].strip()
    words = re.split(r"\s+(and|or)\s+", name)
    if all(word.lower() in SPDX for word in words[::2]):
        return [{"expression": " ".join(word.upper() if index % 2 else SPDX[word.lower()] for index, word in enumerate(words))}]
    return [{"license": {"name": name}}]


def component(package, use, system):
    version, source, architecture = output_of("dpkg-query", "-W", "-f", "${Version} ${source:Package} ${Architecture}\n",
                                              package).splitlines()[0].split()
    copyright_file = pathlib.Path("/usr/share/doc", package, "copyright")
    text = copyright_file.read_text(errors="replace") if copyright_file.is_file() else ""
    purl = (f"pkg:deb/{system['ID']}/{urllib.parse.quote(package)}@{urllib.parse.quote(version, safe='')}"
            f"?arch={architecture}&distro={system['ID']}-{system['VERSION_ID']}")
    return {"type": "library", "bom-ref": purl, "name": package, "version": version, "licenses": licence(text, source), "purl": purl,
            "properties": [{"name": "headroom:use", "value": use}]}


def shared_of_wheel(path):
    """Returns the Debian packages whose shared libraries the wheel has."""
    with zipfile.ZipFile(path) as wheel:
        sonames = [name.rsplit("/", 1)[1] for name in wheel.namelist() if fnmatch.fnmatch(name, "*.data/data/lib/headroom/*.so*")]
    return set().union(*(owners(f"*/{soname}") for soname in sonames))


def shared_of_deb(path):
    fields = output_of("dpkg-deb", "-f", path, "Depends", "Recommends", "Suggests")
    return set(re.findall(r"(?:^\w+: |[,|] *)([a-z0-9.+-]+)", fields, re.MULTILINE))


def cuda_runtime(path):
    """Returns the component of the CUDA runtime, whose version the description of headroom-cuda tells."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            text = b"".join(wheel.read(name) for name in wheel.namelist() if name.endswith(".dist-info/METADATA")).decode()
    else:
        text = output_of("dpkg-deb", "-f", path, "Description")
    found = re.search(r"CUDA\s+runtime\s+(\d[\d.]*\d)", text)
    if not found:
        raise CannotPack(f"the description of {path} does not tell the version of the CUDA runtime inside")
    purl = f"pkg:generic/cudart@{found[1]}"
    return {"type": "library", "bom-ref": purl, "name": "cudart", "version": found[1], "purl": purl,
            "licenses": [{"license": {"name": "NVIDIA CUDA Toolkit End User License Agreement"}}],
            "properties": [{"name": "headroom:use", "value": "compiled in"}]}


def compiled_in(shared):
    """Returns the packages whose code is in the programs, given those of shared libraries."""
    packages = library_packages() - LOADED_FROM_THE_SYSTEM
    for library in ("libstdc++.a", "libgcc.a"):
        packages |= owners(os.path.realpath(output_of("c++", f"-print-file-name={library}").strip()))

    def sources(names):
        lines = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${source:Package}\n", *sorted(names)], capture_output=True,
                               text=True, check=False).stdout.splitlines()  # a suggested package may be absent
        return dict(line.split() for line in lines)
    as_shared = set(sources(shared).values()) if shared else set()
    return {package for package, source in sources(packages).items()
            if source not in as_shared or source.startswith("gcc-")}


def bill(path):
    """Returns the CycloneDX document of a wheel or a Debian package."""
    system = platform.freedesktop_os_release()
    is_wheel = path.suffix == ".whl"
    shared = shared_of_wheel(path) if is_wheel else shared_of_deb(path)
    package, version = path.name.split("-" if is_wheel else "_")[:2]
    package = package.replace("_", "-")
    components = [component(package, "compiled in", system) for package in sorted(compiled_in(shared))]
    if is_wheel:
        components += [component(package, "shared library inside", system) for package in sorted(shared)]
    if package == "headroom-cuda":
        components.append(cuda_runtime(path))
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or path.stat().st_mtime)
    name = f"pkg:pypi/{package}@{version}" if is_wheel else f"pkg:deb/{system['ID']}/{package}@{urllib.parse.quote(version, safe='')}"
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": name, "name": package, "version": version, "purl": name,
                          "licenses": [{"expression": "Apache-2.0"}]}},
        "components": components,
        "dependencies": [{"ref": name, "dependsOn": [entry["bom-ref"] for entry in components]}],
    }


def main():
    if len(sys.argv) < 2:
        print("usage: tools/make_sbom.py WHEEL_OR_DEB...", file=sys.stderr)
        return 2
    try:
        for path in map(pathlib.Path, sys.argv[1:]):
            written = path.with_suffix(".cdx.json")
            written.write_text(json.dumps(bill(path), indent=1) + "\n")
            print(written)
    except (CannotPack, OSError, zipfile.BadZipFile) as error:
        print(f"make_sbom: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
