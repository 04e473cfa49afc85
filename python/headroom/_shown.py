# SPDX-License-Identifier: Apache-2.0
"""Makes untrusted text safe for terminals and notebooks."""
import html
import re

# Control characters except newline and tab, bidirectional marks, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Escapes what a terminal would interpret, as "\\x1B" or "\\u202E"."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02X}" if found[0] < "\x80" else f"\\u{ord(found[0]):04X}", text)


def markup(text: str) -> str:
    """Escapes text for an element or attribute of HTML."""
    return html.escape(visible(text))
