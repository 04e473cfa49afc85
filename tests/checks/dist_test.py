# SPDX-License-Identifier: Apache-2.0
"""What is cheap of `make dist`, `make uninstall` and the container files: refusals, contents, sameness. tests/package has the rest."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"


def call(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@unittest.skipUnless(shutil.which("git"), "git is not here")
class DistTest(WithFolder):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", "project(headroom VERSION 1.2.3 LANGUAGES C CXX)\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## [1.2.3] - 2026-11-27\n\n- New: a thing.\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n")
        call("git", "init", "-q", cwd=self.root)
        self.commit()

    def commit(self):
        for command in (("add", "-A"), ("commit", "-q", "-m", "Text")):
            done = call("git", "-c", "user.name=n", "-c", "user.email=e@x", *command, cwd=self.root)
            self.assertEqual(done.returncode, 0, done.stderr)

    def refusal(self):
        done = call(sys.executable, TOOLS / "make_dist.py", "--root", self.root)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertFalse((self.root / "build").exists())
        return done.stderr

    def test_a_clean_tree_is_fit(self):
        done = call(sys.executable, TOOLS / "make_dist.py", "--root", self.root, "--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1.2.3", done.stdout)

    def test_a_tree_with_changes_is_refused(self):
        self.write("CMakeLists.txt", "project(headroom VERSION 1.2.3)\n")
        self.write("forgotten.txt", "")
        said = self.refusal()
        for word in ("CMakeLists.txt", "forgotten.txt", "git stash"):
            self.assertIn(word, said)

    def test_a_version_without_changes_is_refused(self):
        for text in ("project(headroom VERSION 1.2 LANGUAGES C)\n", "project(headroom VERSION 1.2.4)\n"):
            self.write("CMakeLists.txt", text)
            self.commit()
            self.assertIn("CHANGELOG.md has no section", self.refusal())
        self.write("CMakeLists.txt", "project(other)\n")
        self.commit()
        self.assertIn("CMakeLists.txt", self.refusal())

    def test_only_a_clone_is_released(self):
        shutil.rmtree(self.root / ".git")
        self.assertIn("not a clone of git", self.refusal())

    def test_the_changes_of_the_version(self):
        excerpt = load("make_dist").changelog_excerpt
        self.assertEqual(excerpt(self.root, "1.2.3"), "- New: a thing.\n")
        self.assertEqual(excerpt(self.root, "1.2.2"), "- Old.\n")
        self.assertTrue(excerpt(ROOT, load("make_dist").project_version(ROOT)))

    def test_the_source_archive_is_reproducible(self):
        archives = []
        for folder in ("a", "b"):
            (self.root / folder).mkdir()
            load("make_dist").write_source_archive(self.root, "1.2.3", self.root / folder)
            archives.append((self.root / folder / "headroom-1.2.3.tar.gz").read_bytes())
        self.assertEqual(*archives)
        listed = call("tar", "-tzf", self.root / "a/headroom-1.2.3.tar.gz").stdout.split()
        self.assertIn("headroom-1.2.3/CMakeLists.txt", listed)

    @unittest.skipUnless(shutil.which("dpkg-query") and shutil.which("make"), "an SBOM has the versions of dpkg")
    def test_the_same_commit_gives_the_same_files(self):
        # The builds are replaced by copies; the second release cannot be made here.
        self.write("Makefile", "wheels:\n\tmkdir -p build/wheels\n\tcp wheel.zip build/wheels/headroom-1.2.3-cp39-abi3-any.whl\n"
                   "deb:\n\tif [ $(SUITE) = new ]; then echo skipped: no debootstrap; exit 77; fi\n"
                   "\tmkdir -p build/deb-$(SUITE)\n\techo $$SOURCE_DATE_EPOCH >build/deb-$(SUITE)/headroom_1.2.3_$(SUITE).deb\n")
        with zipfile.ZipFile(self.root / "wheel.zip", "w") as wheel:
            wheel.writestr("headroom/__init__.py", "")
        self.write(".gitignore", "/build/\n")
        for name in ("tools/make_sbom.py", "tools/make_wheel.py", "packages/library.txt"):
            self.write(name, (ROOT / name).read_text())
        self.commit()
        # The programs of a release, without lintian, which would refuse such a file.
        programs = tempfile.TemporaryDirectory()
        self.addCleanup(programs.cleanup)
        for name in ("git", "make", "sh", "mkdir", "cp", "echo", "dpkg-query", "dpkg-deb", "c++", "python3"):
            os.symlink(shutil.which(name), pathlib.Path(programs.name, name))
        sums = []
        for _ in range(2):
            done = call(sys.executable, TOOLS / "make_dist.py", "--root", self.root, "--suite", "old", "--suite", "new",
                        env=dict(os.environ, PATH=programs.name))
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            for reason in ("Debian packages for new: skipped: no debootstrap", "headroom-cuda of the wheel: no nvcc", "lintian: not in PATH"):
                self.assertIn(f"left out: {reason}", done.stdout)
            sums.append((self.root / "build/dist/headroom-1.2.3/SHA256SUMS").read_text())
            shutil.rmtree(self.root / "build")
        self.assertEqual(*sums)
        self.assertEqual([line.split()[1] for line in sums[0].splitlines()],
                         ["CHANGELOG.md", "headroom-1.2.3-cp39-abi3-any.cdx.json", "headroom-1.2.3-cp39-abi3-any.whl", "headroom-1.2.3.tar.gz",
                          "headroom_1.2.3_old.deb"])

    def test_a_failed_build_ends_the_release(self):
        self.write("Makefile", "wheels:\n\techo no compiler; exit 1\n")
        self.write(".gitignore", "/build/\n")
        self.commit()
        done = call(sys.executable, TOOLS / "make_dist.py", "--root", self.root)
        self.assertEqual(done.returncode, 2)
        self.assertIn("wheels failed", done.stderr)
        self.assertIn("no compiler", done.stderr)

    def test_checksums_are_those_of_sha256sum(self):
        self.write("out/a", "1")
        self.write("out/b", "2")
        load("make_dist").write_checksums(self.root / "out")
        checked = call("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=self.root / "out")
        self.assertEqual(checked.stdout, "a: OK\nb: OK\n")


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-query"), "versions are those of dpkg")
class SbomTest(WithFolder):
    def bill(self, path):
        done = call(sys.executable, TOOLS / "make_sbom.py", path, env=dict(os.environ, SOURCE_DATE_EPOCH="86400"))
        self.assertEqual(done.returncode, 0, done.stderr)
        written = pathlib.Path(done.stdout.strip())
        document = json.loads(written.read_text())
        self.assertEqual((document["bomFormat"], document["metadata"]["timestamp"]), ("CycloneDX", "1970-01-02T00:00:00Z"))
        for entry in document["components"]:
            self.assertEqual(set(entry), {"type", "bom-ref", "name", "version", "licenses", "purl", "properties"})
            self.assertRegex(entry["purl"], rf"^pkg:deb/\w+/{re.escape(urllib.parse.quote(entry['name']))}@[^?:+ ]+\?arch=\w+&distro=")
        self.assertEqual(document["dependencies"][0]["dependsOn"], [entry["bom-ref"] for entry in document["components"]])
        return {entry["name"]: entry for entry in document["components"]}

    def deb(self, depends):
        self.write("deb/DEBIAN/control", f"Package: headroom\nVersion: 1.2.3-1\nArchitecture: all\nMaintainer: n <e@x>\n{depends}Description: d\n")
        path = self.root / "headroom_1.2.3-1_all.deb"
        built = call("dpkg-deb", "--build", self.root / "deb", path)
        self.assertEqual(built.returncode, 0, built.stderr)
        return path

    def test_shared_libraries_are_not_inside_a_deb(self):
        found = self.bill(self.deb("Depends: libsqlite3-0 (>= 3.1), zlib1g | other\n"))
        for name in ("libcli11-dev", "libfmt-dev", "node-d3-array"):
            self.assertIn(name, found)
        for name in ("libsqlite3-dev", "zlib1g-dev", "libpq-dev", "libmicrohttpd-dev"):
            self.assertNotIn(name, found)
        self.assertTrue([name for name in found if name.startswith("libstdc++-")])
        self.assertEqual(found["libcli11-dev"]["licenses"], [{"expression": "BSD-3-Clause"}])
        self.assertIn("libsqlite3-dev", self.bill(self.deb("")))

    def test_the_libraries_of_a_wheel(self):
        done = call("dpkg-query", "-S", "*/libsimdjson.so.*")
        if done.returncode != 0:
            self.skipTest("simdjson is not of dpkg")
        soname = re.search(r"libsimdjson\.so\.\d+$", done.stdout, re.MULTILINE)[0]
        path = self.root / "headroom-1.2.3-cp39-abi3-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"headroom-1.2.3.data/data/lib/headroom/{soname}", "")
        found = self.bill(path)
        inside = [name for name, entry in found.items() if entry["properties"][0]["value"] == "shared library inside"]
        self.assertEqual(len(inside), 1)
        self.assertTrue(inside[0].startswith("libsimdjson"))
        self.assertNotIn("libsimdjson-dev", found)
        self.assertIn("zlib1g-dev", found)

    def test_the_runtime_inside_headroom_cuda(self):
        path = self.root / "headroom_cuda-1.2.3-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("headroom_cuda-1.2.3.dist-info/METADATA", "It contains CUDA runtime 13.0.88, and loads the driver.")
        done = call(sys.executable, TOOLS / "make_sbom.py", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(pathlib.Path(done.stdout.strip()).read_text())
        self.assertEqual(document["metadata"]["component"]["name"], "headroom-cuda")
        self.assertIn(("cudart", "13.0.88"), [(entry["name"], entry["version"]) for entry in document["components"]])

    def test_an_unknown_library_is_refused(self):
        path = self.root / "headroom-1.2.3-cp39-abi3-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("headroom-1.2.3.data/data/lib/headroom/libabsent.so.1", "")
        done = call(sys.executable, TOOLS / "make_sbom.py", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("libabsent.so.1", done.stderr)


class UninstallTest(WithFolder):
    def uninstall(self, files, **environment):
        manifest = self.write("manifest.txt", "\n".join(map(str, files)))
        return call(TOOLS / "uninstall.sh", manifest, env=dict(os.environ, **environment))

    def test_files_and_folders_of_ours_go(self):
        names = ("bin/headroom", "include/headroom/base/error.h", "lib/python3/dist-packages/headroom/plot.py", "share/doc/headroom/copyright")
        files = [self.write(f"usr/{name}", "") for name in names]
        self.write("usr/lib/python3/dist-packages/headroom/__pycache__/plot.pyc", "")
        others = [self.write("usr/bin/other", ""), self.write("usr/share/doc/headroom/mine.txt", ""), self.write("usr/bin/__pycache__/x.pyc", "")]
        done = self.uninstall([*files, self.root / "usr/bin/gone"])
        self.assertEqual((done.returncode, done.stdout), (0, "removed 4 of 5 files\n"), done.stderr)
        self.assertEqual(sorted(path for path in (self.root / "usr").rglob("*") if path.is_file()), sorted(others))
        self.assertFalse((self.root / "usr/include/headroom").exists())
        self.assertFalse((self.root / "usr/lib/python3/dist-packages/headroom").exists())
        self.assertTrue((self.root / "usr/include").exists())

    def test_below_destdir(self):
        staged, installed = self.write("stage headroom/usr/bin/headroom", ""), self.write("usr/bin/headroom", "")
        done = self.uninstall([installed], DESTDIR=str(self.root / "other"))
        self.assertIn("removed 0 of 1", done.stdout)
        name = pathlib.Path("/usr/bin/headroom")
        done = self.uninstall([name], DESTDIR=str(self.root / "stage headroom"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(staged.exists())
        self.assertTrue(installed.exists() and staged.parent.exists())

    def test_nothing_installed(self):
        done = call(TOOLS / "uninstall.sh", self.root / "absent.txt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("absent.txt", done.stderr)


class ContainerTest(unittest.TestCase):
    def test_the_lines_of_the_container_files(self):
        for name in ("Containerfile", "Containerfile.cuda"):
            text = re.sub(r"\\\n\s*", "", (ROOT / name).read_text())
            lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
            words = [word for word, _ in lines]
            self.assertLessEqual(set(words), {"ARG", "FROM", "RUN", "COPY", "ENTRYPOINT", "CMD"}, name)
            stages = [rest.split(" AS ")[1] for word, rest in lines if word == "FROM" and " AS " in rest]
            known = {rest.split("=")[0] for word, rest in lines if word == "ARG"}
            for word, rest in lines:
                self.assertLessEqual(set(re.findall(r"\$\{(\w+)\}", rest)), known, rest)
                for stage in re.findall(r"from=(\w+)", rest):
                    self.assertIn(stage, stages)
                for arguments in re.findall(r"make -C /headroom (.*)", rest):
                    dry = call("make", "-n", "-C", ROOT, *arguments.split())
                    self.assertEqual(dry.returncode, 0, dry.stderr)
                    for setting in re.findall(r"(\w+)=", arguments):
                        self.assertIn(f"-D{setting}=", dry.stdout)
                for package in re.findall(r"/debs/([\w-]+)_\*\.deb", rest):
                    self.assertRegex((ROOT / "cmake/HeadroomDebian.cmake").read_text(), rf"headroom_debian_package\(\w+ {package} ")
                if word in ("ENTRYPOINT", "CMD"):
                    self.assertIsInstance(json.loads(rest), list)


if __name__ == "__main__":
    unittest.main()
