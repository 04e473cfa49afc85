# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.cpp -DSTYLES="a.css" -DSCRIPTS="a.js;b.js" -P embed_assets.cmake
# Writes the joined files as two C++ texts, with hashes for a content security policy.

# Base64 of the bytes, as in a policy.
function(policy_hash text result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 digits "${text}")
  string(APPEND digits 00)  # 33 bytes are 22 times three digits, each two characters
  set(base64 "")
  foreach(i RANGE 0 63 3)
    string(SUBSTRING ${digits} ${i} 3 three)
    math(EXPR high "0x${three} / 64")
    math(EXPR low "0x${three} % 64")
    string(SUBSTRING ${alphabet} ${high} 1 high)
    string(SUBSTRING ${alphabet} ${low} 1 low)
    string(APPEND base64 ${high}${low})
  endforeach()
  string(REGEX REPLACE ".$" "=" base64 ${base64})
  set(${result} "sha256-${base64}" PARENT_SCOPE)
endfunction()

function(joined files result)
  set(all "\n")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    # These end the element, or a browser reads them differently from what is hashed here.
    foreach(bad IN ITEMS "</script" "</style" "<!--" ")page\"" "\r")
      string(FIND "${text}" "${bad}" place)
      if(NOT place EQUAL -1)
        message(FATAL_ERROR "${file} holds '${bad}', which must not appear in a page: split it")
      endif()
    endforeach()
    string(APPEND all "${text}\n")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

joined("${STYLES}" style)
joined("${SCRIPTS}" script)
policy_hash("${style}" style_hash)
policy_hash("${script}" script_hash)
file(WRITE ${OUT}.new "// SPDX-License-Identifier: Apache-2.0
// Generated from src/headroom_pages/assets and d3.
#include \"headroom_pages/page.h\"

namespace headroom {

PageAssets page_assets() {
  return {R\"page(${style})page\", R\"page(${script})page\", \"${style_hash}\", \"${script_hash}\"};
}

}  // namespace headroom
")
file(RENAME ${OUT}.new ${OUT})
