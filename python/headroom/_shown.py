# SPDX-License-Identifier: Apache-2.0
"""Text of strangers (names of cases, what programs say) made safe for a terminal and for a notebook's page."""
import html
import re

# Controls but line ends and tabs, marks that change the writing direction, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with what a terminal would obey escaped as "\\x1B" or "\\u202E"."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02X}" if found[0] < "\x80" else f"\\u{ord(found[0]):04X}", text)


def markup(text: str) -> str:
    """`text` for an element or an attribute of HTML."""
    return html.escape(visible(text))
