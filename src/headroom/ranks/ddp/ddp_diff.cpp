// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/ddp_report_walk.h"

namespace headroom {

struct CodePointRange {
  char32_t first, last;
};

/// Code points that Python's repr() escapes, ascending.
std::span<const CodePointRange> unprintable_ranges();

struct DdpReport {
  static constexpr std::array<int, 2> kPercentiles{75, 95};

  struct Round {
    std::optional<std::size_t> ranks;
    std::size_t measurements = 0;
    std::array<double, kPercentiles.size()> percentiles{};  ///< seconds; valid if there are measurements
  };
  struct BatchSize {
    bool is_text = false;  ///< a string, which never equals a number
    double value = 0;
    std::string text;  ///< as a whole number
  };
  struct Model {
    std::optional<std::string> name;
    std::optional<BatchSize> batch_size;
    std::optional<std::vector<Round>> rounds;
  };

  std::string source;                         ///< file name, for messages
  std::map<std::string, std::string> fields;  ///< all but the results, as Python's str()
  std::vector<Model> models;
};

/// Throws Error with the byte offset of a JSON error or the path of a wrong type.
DdpReport read_ddp_report(const std::filesystem::path& path);

namespace {

// From Python 3.11's str.isprintable(): Unicode 14.0.0, categories C* and Z* except the space.
// clang-format off
constexpr std::array kRanges = std::to_array<CodePointRange>({
  {0x0,0x1f}, {0x7f,0xa0}, {0xad,0xad}, {0x378,0x379}, {0x380,0x383}, {0x38b,0x38b}, {0x38d,0x38d},
  {0x3a2,0x3a2}, {0x530,0x530}, {0x557,0x558}, {0x58b,0x58c}, {0x590,0x590}, {0x5c8,0x5cf}, {0x5eb,0x5ee},
  {0x5f5,0x605}, {0x61c,0x61c}, {0x6dd,0x6dd}, {0x70e,0x70f}, {0x74b,0x74c}, {0x7b2,0x7bf}, {0x7fb,0x7fc},
  {0x82e,0x82f}, {0x83f,0x83f}, {0x85c,0x85d}, {0x85f,0x85f}, {0x86b,0x86f}, {0x88f,0x897}, {0x8e2,0x8e2},
  {0x984,0x984}, {0x98d,0x98e}, {0x991,0x992}, {0x9a9,0x9a9}, {0x9b1,0x9b1}, {0x9b3,0x9b5}, {0x9ba,0x9bb},
  {0x9c5,0x9c6}, {0x9c9,0x9ca}, {0x9cf,0x9d6}, {0x9d8,0x9db}, {0x9de,0x9de}, {0x9e4,0x9e5}, {0x9ff,0xa00},
  {0xa04,0xa04}, {0xa0b,0xa0e}, {0xa11,0xa12}, {0xa29,0xa29}, {0xa31,0xa31}, {0xa34,0xa34}, {0xa37,0xa37},
  {0xa3a,0xa3b}, {0xa3d,0xa3d}, {0xa43,0xa46}, {0xa49,0xa4a}, {0xa4e,0xa50}, {0xa52,0xa58}, {0xa5d,0xa5d},
  {0xa5f,0xa65}, {0xa77,0xa80}, {0xa84,0xa84}, {0xa8e,0xa8e}, {0xa92,0xa92}, {0xaa9,0xaa9}, {0xab1,0xab1},
  {0xab4,0xab4}, {0xaba,0xabb}, {0xac6,0xac6}, {0xaca,0xaca}, {0xace,0xacf}, {0xad1,0xadf}, {0xae4,0xae5},
  {0xaf2,0xaf8}, {0xb00,0xb00}, {0xb04,0xb04}, {0xb0d,0xb0e}, {0xb11,0xb12}, {0xb29,0xb29}, {0xb31,0xb31},
  {0xb34,0xb34}, {0xb3a,0xb3b}, {0xb45,0xb46}, {0xb49,0xb4a}, {0xb4e,0xb54}, {0xb58,0xb5b}, {0xb5e,0xb5e},
  {0xb64,0xb65}, {0xb78,0xb81}, {0xb84,0xb84}, {0xb8b,0xb8d}, {0xb91,0xb91}, {0xb96,0xb98}, {0xb9b,0xb9b},
  {0xb9d,0xb9d}, {0xba0,0xba2}, {0xba5,0xba7}, {0xbab,0xbad}, {0xbba,0xbbd}, {0xbc3,0xbc5}, {0xbc9,0xbc9},
  {0xbce,0xbcf}, {0xbd1,0xbd6}, {0xbd8,0xbe5}, {0xbfb,0xbff}, {0xc0d,0xc0d}, {0xc11,0xc11}, {0xc29,0xc29},
  {0xc3a,0xc3b}, {0xc45,0xc45}, {0xc49,0xc49}, {0xc4e,0xc54}, {0xc57,0xc57}, {0xc5b,0xc5c}, {0xc5e,0xc5f},
  {0xc64,0xc65}, {0xc70,0xc76}, {0xc8d,0xc8d}, {0xc91,0xc91}, {0xca9,0xca9}, {0xcb4,0xcb4}, {0xcba,0xcbb},
  {0xcc5,0xcc5}, {0xcc9,0xcc9}, {0xcce,0xcd4}, {0xcd7,0xcdc}, {0xcdf,0xcdf}, {0xce4,0xce5}, {0xcf0,0xcf0},
  {0xcf3,0xcff}, {0xd0d,0xd0d}, {0xd11,0xd11}, {0xd45,0xd45}, {0xd49,0xd49}, {0xd50,0xd53}, {0xd64,0xd65},
  {0xd80,0xd80}, {0xd84,0xd84}, {0xd97,0xd99}, {0xdb2,0xdb2}, {0xdbc,0xdbc}, {0xdbe,0xdbf}, {0xdc7,0xdc9},
  {0xdcb,0xdce}, {0xdd5,0xdd5}, {0xdd7,0xdd7}, {0xde0,0xde5}, {0xdf0,0xdf1}, {0xdf5,0xe00}, {0xe3b,0xe3e},
  {0xe5c,0xe80}, {0xe83,0xe83}, {0xe85,0xe85}, {0xe8b,0xe8b}, {0xea4,0xea4}, {0xea6,0xea6}, {0xebe,0xebf},
  {0xec5,0xec5}, {0xec7,0xec7}, {0xece,0xecf}, {0xeda,0xedb}, {0xee0,0xeff}, {0xf48,0xf48}, {0xf6d,0xf70},
  {0xf98,0xf98}, {0xfbd,0xfbd}, {0xfcd,0xfcd}, {0xfdb,0xfff}, {0x10c6,0x10c6}, {0x10c8,0x10cc},
  {0x10ce,0x10cf}, {0x1249,0x1249}, {0x124e,0x124f}, {0x1257,0x1257}, {0x1259,0x1259}, {0x125e,0x125f},
  {0x1289,0x1289}, {0x128e,0x128f}, {0x12b1,0x12b1}, {0x12b6,0x12b7}, {0x12bf,0x12bf}, {0x12c1,0x12c1},
  {0x12c6,0x12c7}, {0x12d7,0x12d7}, {0x1311,0x1311}, {0x1316,0x1317}, {0x135b,0x135c}, {0x137d,0x137f},
  {0x139a,0x139f}, {0x13f6,0x13f7}, {0x13fe,0x13ff}, {0x1680,0x1680}, {0x169d,0x169f}, {0x16f9,0x16ff},
  {0x1716,0x171e}, {0x1737,0x173f}, {0x1754,0x175f}, {0x176d,0x176d}, {0x1771,0x1771}, {0x1774,0x177f},
  {0x17de,0x17df}, {0x17ea,0x17ef}, {0x17fa,0x17ff}, {0x180e,0x180e}, {0x181a,0x181f}, {0x1879,0x187f},
  {0x18ab,0x18af}, {0x18f6,0x18ff}, {0x191f,0x191f}, {0x192c,0x192f}, {0x193c,0x193f}, {0x1941,0x1943},
  {0x196e,0x196f}, {0x1975,0x197f}, {0x19ac,0x19af}, {0x19ca,0x19cf}, {0x19db,0x19dd}, {0x1a1c,0x1a1d},
  {0x1a5f,0x1a5f}, {0x1a7d,0x1a7e}, {0x1a8a,0x1a8f}, {0x1a9a,0x1a9f}, {0x1aae,0x1aaf}, {0x1acf,0x1aff},
  {0x1b4d,0x1b4f}, {0x1b7f,0x1b7f}, {0x1bf4,0x1bfb}, {0x1c38,0x1c3a}, {0x1c4a,0x1c4c}, {0x1c89,0x1c8f},
  {0x1cbb,0x1cbc}, {0x1cc8,0x1ccf}, {0x1cfb,0x1cff}, {0x1f16,0x1f17}, {0x1f1e,0x1f1f}, {0x1f46,0x1f47},
  {0x1f4e,0x1f4f}, {0x1f58,0x1f58}, {0x1f5a,0x1f5a}, {0x1f5c,0x1f5c}, {0x1f5e,0x1f5e}, {0x1f7e,0x1f7f},
  {0x1fb5,0x1fb5}, {0x1fc5,0x1fc5}, {0x1fd4,0x1fd5}, {0x1fdc,0x1fdc}, {0x1ff0,0x1ff1}, {0x1ff5,0x1ff5},
  {0x1fff,0x200f}, {0x2028,0x202f}, {0x205f,0x206f}, {0x2072,0x2073}, {0x208f,0x208f}, {0x209d,0x209f},
  {0x20c1,0x20cf}, {0x20f1,0x20ff}, {0x218c,0x218f}, {0x2427,0x243f}, {0x244b,0x245f}, {0x2b74,0x2b75},
  {0x2b96,0x2b96}, {0x2cf4,0x2cf8}, {0x2d26,0x2d26}, {0x2d28,0x2d2c}, {0x2d2e,0x2d2f}, {0x2d68,0x2d6e},
  {0x2d71,0x2d7e}, {0x2d97,0x2d9f}, {0x2da7,0x2da7}, {0x2daf,0x2daf}, {0x2db7,0x2db7}, {0x2dbf,0x2dbf},
  {0x2dc7,0x2dc7}, {0x2dcf,0x2dcf}, {0x2dd7,0x2dd7}, {0x2ddf,0x2ddf}, {0x2e5e,0x2e7f}, {0x2e9a,0x2e9a},
  {0x2ef4,0x2eff}, {0x2fd6,0x2fef}, {0x2ffc,0x3000}, {0x3040,0x3040}, {0x3097,0x3098}, {0x3100,0x3104},
  {0x3130,0x3130}, {0x318f,0x318f}, {0x31e4,0x31ef}, {0x321f,0x321f}, {0xa48d,0xa48f}, {0xa4c7,0xa4cf},
  {0xa62c,0xa63f}, {0xa6f8,0xa6ff}, {0xa7cb,0xa7cf}, {0xa7d2,0xa7d2}, {0xa7d4,0xa7d4}, {0xa7da,0xa7f1},
  {0xa82d,0xa82f}, {0xa83a,0xa83f}, {0xa878,0xa87f}, {0xa8c6,0xa8cd}, {0xa8da,0xa8df}, {0xa954,0xa95e},
  {0xa97d,0xa97f}, {0xa9ce,0xa9ce}, {0xa9da,0xa9dd}, {0xa9ff,0xa9ff}, {0xaa37,0xaa3f}, {0xaa4e,0xaa4f},
  {0xaa5a,0xaa5b}, {0xaac3,0xaada}, {0xaaf7,0xab00}, {0xab07,0xab08}, {0xab0f,0xab10}, {0xab17,0xab1f},
  {0xab27,0xab27}, {0xab2f,0xab2f}, {0xab6c,0xab6f}, {0xabee,0xabef}, {0xabfa,0xabff}, {0xd7a4,0xd7af},
  {0xd7c7,0xd7ca}, {0xd7fc,0xf8ff}, {0xfa6e,0xfa6f}, {0xfada,0xfaff}, {0xfb07,0xfb12}, {0xfb18,0xfb1c},
  {0xfb37,0xfb37}, {0xfb3d,0xfb3d}, {0xfb3f,0xfb3f}, {0xfb42,0xfb42}, {0xfb45,0xfb45}, {0xfbc3,0xfbd2},
  {0xfd90,0xfd91}, {0xfdc8,0xfdce}, {0xfdd0,0xfdef}, {0xfe1a,0xfe1f}, {0xfe53,0xfe53}, {0xfe67,0xfe67},
  {0xfe6c,0xfe6f}, {0xfe75,0xfe75}, {0xfefd,0xff00}, {0xffbf,0xffc1}, {0xffc8,0xffc9}, {0xffd0,0xffd1},
  {0xffd8,0xffd9}, {0xffdd,0xffdf}, {0xffe7,0xffe7}, {0xffef,0xfffb}, {0xfffe,0xffff}, {0x1000c,0x1000c},
  {0x10027,0x10027}, {0x1003b,0x1003b}, {0x1003e,0x1003e}, {0x1004e,0x1004f}, {0x1005e,0x1007f},
  {0x100fb,0x100ff}, {0x10103,0x10106}, {0x10134,0x10136}, {0x1018f,0x1018f}, {0x1019d,0x1019f},
  {0x101a1,0x101cf}, {0x101fe,0x1027f}, {0x1029d,0x1029f}, {0x102d1,0x102df}, {0x102fc,0x102ff},
  {0x10324,0x1032c}, {0x1034b,0x1034f}, {0x1037b,0x1037f}, {0x1039e,0x1039e}, {0x103c4,0x103c7},
  {0x103d6,0x103ff}, {0x1049e,0x1049f}, {0x104aa,0x104af}, {0x104d4,0x104d7}, {0x104fc,0x104ff},
  {0x10528,0x1052f}, {0x10564,0x1056e}, {0x1057b,0x1057b}, {0x1058b,0x1058b}, {0x10593,0x10593},
  {0x10596,0x10596}, {0x105a2,0x105a2}, {0x105b2,0x105b2}, {0x105ba,0x105ba}, {0x105bd,0x105ff},
  {0x10737,0x1073f}, {0x10756,0x1075f}, {0x10768,0x1077f}, {0x10786,0x10786}, {0x107b1,0x107b1},
  {0x107bb,0x107ff}, {0x10806,0x10807}, {0x10809,0x10809}, {0x10836,0x10836}, {0x10839,0x1083b},
  {0x1083d,0x1083e}, {0x10856,0x10856}, {0x1089f,0x108a6}, {0x108b0,0x108df}, {0x108f3,0x108f3},
  {0x108f6,0x108fa}, {0x1091c,0x1091e}, {0x1093a,0x1093e}, {0x10940,0x1097f}, {0x109b8,0x109bb},
  {0x109d0,0x109d1}, {0x10a04,0x10a04}, {0x10a07,0x10a0b}, {0x10a14,0x10a14}, {0x10a18,0x10a18},
  {0x10a36,0x10a37}, {0x10a3b,0x10a3e}, {0x10a49,0x10a4f}, {0x10a59,0x10a5f}, {0x10aa0,0x10abf},
  {0x10ae7,0x10aea}, {0x10af7,0x10aff}, {0x10b36,0x10b38}, {0x10b56,0x10b57}, {0x10b73,0x10b77},
  {0x10b92,0x10b98}, {0x10b9d,0x10ba8}, {0x10bb0,0x10bff}, {0x10c49,0x10c7f}, {0x10cb3,0x10cbf},
  {0x10cf3,0x10cf9}, {0x10d28,0x10d2f}, {0x10d3a,0x10e5f}, {0x10e7f,0x10e7f}, {0x10eaa,0x10eaa},
  {0x10eae,0x10eaf}, {0x10eb2,0x10eff}, {0x10f28,0x10f2f}, {0x10f5a,0x10f6f}, {0x10f8a,0x10faf},
  {0x10fcc,0x10fdf}, {0x10ff7,0x10fff}, {0x1104e,0x11051}, {0x11076,0x1107e}, {0x110bd,0x110bd},
  {0x110c3,0x110cf}, {0x110e9,0x110ef}, {0x110fa,0x110ff}, {0x11135,0x11135}, {0x11148,0x1114f},
  {0x11177,0x1117f}, {0x111e0,0x111e0}, {0x111f5,0x111ff}, {0x11212,0x11212}, {0x1123f,0x1127f},
  {0x11287,0x11287}, {0x11289,0x11289}, {0x1128e,0x1128e}, {0x1129e,0x1129e}, {0x112aa,0x112af},
  {0x112eb,0x112ef}, {0x112fa,0x112ff}, {0x11304,0x11304}, {0x1130d,0x1130e}, {0x11311,0x11312},
  {0x11329,0x11329}, {0x11331,0x11331}, {0x11334,0x11334}, {0x1133a,0x1133a}, {0x11345,0x11346},
  {0x11349,0x1134a}, {0x1134e,0x1134f}, {0x11351,0x11356}, {0x11358,0x1135c}, {0x11364,0x11365},
  {0x1136d,0x1136f}, {0x11375,0x113ff}, {0x1145c,0x1145c}, {0x11462,0x1147f}, {0x114c8,0x114cf},
  {0x114da,0x1157f}, {0x115b6,0x115b7}, {0x115de,0x115ff}, {0x11645,0x1164f}, {0x1165a,0x1165f},
  {0x1166d,0x1167f}, {0x116ba,0x116bf}, {0x116ca,0x116ff}, {0x1171b,0x1171c}, {0x1172c,0x1172f},
  {0x11747,0x117ff}, {0x1183c,0x1189f}, {0x118f3,0x118fe}, {0x11907,0x11908}, {0x1190a,0x1190b},
  {0x11914,0x11914}, {0x11917,0x11917}, {0x11936,0x11936}, {0x11939,0x1193a}, {0x11947,0x1194f},
  {0x1195a,0x1199f}, {0x119a8,0x119a9}, {0x119d8,0x119d9}, {0x119e5,0x119ff}, {0x11a48,0x11a4f},
  {0x11aa3,0x11aaf}, {0x11af9,0x11bff}, {0x11c09,0x11c09}, {0x11c37,0x11c37}, {0x11c46,0x11c4f},
  {0x11c6d,0x11c6f}, {0x11c90,0x11c91}, {0x11ca8,0x11ca8}, {0x11cb7,0x11cff}, {0x11d07,0x11d07},
  {0x11d0a,0x11d0a}, {0x11d37,0x11d39}, {0x11d3b,0x11d3b}, {0x11d3e,0x11d3e}, {0x11d48,0x11d4f},
  {0x11d5a,0x11d5f}, {0x11d66,0x11d66}, {0x11d69,0x11d69}, {0x11d8f,0x11d8f}, {0x11d92,0x11d92},
  {0x11d99,0x11d9f}, {0x11daa,0x11edf}, {0x11ef9,0x11faf}, {0x11fb1,0x11fbf}, {0x11ff2,0x11ffe},
  {0x1239a,0x123ff}, {0x1246f,0x1246f}, {0x12475,0x1247f}, {0x12544,0x12f8f}, {0x12ff3,0x12fff},
  {0x1342f,0x143ff}, {0x14647,0x167ff}, {0x16a39,0x16a3f}, {0x16a5f,0x16a5f}, {0x16a6a,0x16a6d},
  {0x16abf,0x16abf}, {0x16aca,0x16acf}, {0x16aee,0x16aef}, {0x16af6,0x16aff}, {0x16b46,0x16b4f},
  {0x16b5a,0x16b5a}, {0x16b62,0x16b62}, {0x16b78,0x16b7c}, {0x16b90,0x16e3f}, {0x16e9b,0x16eff},
  {0x16f4b,0x16f4e}, {0x16f88,0x16f8e}, {0x16fa0,0x16fdf}, {0x16fe5,0x16fef}, {0x16ff2,0x16fff},
  {0x187f8,0x187ff}, {0x18cd6,0x18cff}, {0x18d09,0x1afef}, {0x1aff4,0x1aff4}, {0x1affc,0x1affc},
  {0x1afff,0x1afff}, {0x1b123,0x1b14f}, {0x1b153,0x1b163}, {0x1b168,0x1b16f}, {0x1b2fc,0x1bbff},
  {0x1bc6b,0x1bc6f}, {0x1bc7d,0x1bc7f}, {0x1bc89,0x1bc8f}, {0x1bc9a,0x1bc9b}, {0x1bca0,0x1ceff},
  {0x1cf2e,0x1cf2f}, {0x1cf47,0x1cf4f}, {0x1cfc4,0x1cfff}, {0x1d0f6,0x1d0ff}, {0x1d127,0x1d128},
  {0x1d173,0x1d17a}, {0x1d1eb,0x1d1ff}, {0x1d246,0x1d2df}, {0x1d2f4,0x1d2ff}, {0x1d357,0x1d35f},
  {0x1d379,0x1d3ff}, {0x1d455,0x1d455}, {0x1d49d,0x1d49d}, {0x1d4a0,0x1d4a1}, {0x1d4a3,0x1d4a4},
  {0x1d4a7,0x1d4a8}, {0x1d4ad,0x1d4ad}, {0x1d4ba,0x1d4ba}, {0x1d4bc,0x1d4bc}, {0x1d4c4,0x1d4c4},
  {0x1d506,0x1d506}, {0x1d50b,0x1d50c}, {0x1d515,0x1d515}, {0x1d51d,0x1d51d}, {0x1d53a,0x1d53a},
  {0x1d53f,0x1d53f}, {0x1d545,0x1d545}, {0x1d547,0x1d549}, {0x1d551,0x1d551}, {0x1d6a6,0x1d6a7},
  {0x1d7cc,0x1d7cd}, {0x1da8c,0x1da9a}, {0x1daa0,0x1daa0}, {0x1dab0,0x1deff}, {0x1df1f,0x1dfff},
  {0x1e007,0x1e007}, {0x1e019,0x1e01a}, {0x1e022,0x1e022}, {0x1e025,0x1e025}, {0x1e02b,0x1e0ff},
  {0x1e12d,0x1e12f}, {0x1e13e,0x1e13f}, {0x1e14a,0x1e14d}, {0x1e150,0x1e28f}, {0x1e2af,0x1e2bf},
  {0x1e2fa,0x1e2fe}, {0x1e300,0x1e7df}, {0x1e7e7,0x1e7e7}, {0x1e7ec,0x1e7ec}, {0x1e7ef,0x1e7ef},
  {0x1e7ff,0x1e7ff}, {0x1e8c5,0x1e8c6}, {0x1e8d7,0x1e8ff}, {0x1e94c,0x1e94f}, {0x1e95a,0x1e95d},
  {0x1e960,0x1ec70}, {0x1ecb5,0x1ed00}, {0x1ed3e,0x1edff}, {0x1ee04,0x1ee04}, {0x1ee20,0x1ee20},
  {0x1ee23,0x1ee23}, {0x1ee25,0x1ee26}, {0x1ee28,0x1ee28}, {0x1ee33,0x1ee33}, {0x1ee38,0x1ee38},
  {0x1ee3a,0x1ee3a}, {0x1ee3c,0x1ee41}, {0x1ee43,0x1ee46}, {0x1ee48,0x1ee48}, {0x1ee4a,0x1ee4a},
  {0x1ee4c,0x1ee4c}, {0x1ee50,0x1ee50}, {0x1ee53,0x1ee53}, {0x1ee55,0x1ee56}, {0x1ee58,0x1ee58},
  {0x1ee5a,0x1ee5a}, {0x1ee5c,0x1ee5c}, {0x1ee5e,0x1ee5e}, {0x1ee60,0x1ee60}, {0x1ee63,0x1ee63},
  {0x1ee65,0x1ee66}, {0x1ee6b,0x1ee6b}, {0x1ee73,0x1ee73}, {0x1ee78,0x1ee78}, {0x1ee7d,0x1ee7d},
  {0x1ee7f,0x1ee7f}, {0x1ee8a,0x1ee8a}, {0x1ee9c,0x1eea0}, {0x1eea4,0x1eea4}, {0x1eeaa,0x1eeaa},
  {0x1eebc,0x1eeef}, {0x1eef2,0x1efff}, {0x1f02c,0x1f02f}, {0x1f094,0x1f09f}, {0x1f0af,0x1f0b0},
  {0x1f0c0,0x1f0c0}, {0x1f0d0,0x1f0d0}, {0x1f0f6,0x1f0ff}, {0x1f1ae,0x1f1e5}, {0x1f203,0x1f20f},
  {0x1f23c,0x1f23f}, {0x1f249,0x1f24f}, {0x1f252,0x1f25f}, {0x1f266,0x1f2ff}, {0x1f6d8,0x1f6dc},
  {0x1f6ed,0x1f6ef}, {0x1f6fd,0x1f6ff}, {0x1f774,0x1f77f}, {0x1f7d9,0x1f7df}, {0x1f7ec,0x1f7ef},
  {0x1f7f1,0x1f7ff}, {0x1f80c,0x1f80f}, {0x1f848,0x1f84f}, {0x1f85a,0x1f85f}, {0x1f888,0x1f88f},
  {0x1f8ae,0x1f8af}, {0x1f8b2,0x1f8ff}, {0x1fa54,0x1fa5f}, {0x1fa6e,0x1fa6f}, {0x1fa75,0x1fa77},
  {0x1fa7d,0x1fa7f}, {0x1fa87,0x1fa8f}, {0x1faad,0x1faaf}, {0x1fabb,0x1fabf}, {0x1fac6,0x1facf},
  {0x1fada,0x1fadf}, {0x1fae8,0x1faef}, {0x1faf7,0x1faff}, {0x1fb93,0x1fb93}, {0x1fbcb,0x1fbef},
  {0x1fbfa,0x1ffff}, {0x2a6e0,0x2a6ff}, {0x2b739,0x2b73f}, {0x2b81e,0x2b81f}, {0x2cea2,0x2ceaf},
  {0x2ebe1,0x2f7ff}, {0x2fa1e,0x2ffff}, {0x3134b,0xe00ff}, {0xe01f0,0x10ffff},
});
// clang-format on

/// A value as in Python: scalars as repr(), strings as str().
struct Node {
  enum class Kind { kScalar, kString, kList, kDict } kind = Kind::kScalar;
  std::string text;
  std::vector<Node> children;
  std::string key = {};  ///< in a dict
};

/// The last of equal keys wins in the place of the first; integers keep all digits.
Node node_of(JsonStream& stream);

Node dict_of(JsonStream& stream) {
  Node dict{Node::Kind::kDict, "", {}};
  stream.members([&](const std::string& key) {
    Node value = node_of(stream);
    value.key = key;
    const auto same = std::ranges::find(dict.children, key, &Node::key);
    if (same != dict.children.end()) {
      *same = std::move(value);
    } else {
      dict.children.push_back(std::move(value));
    }
  });
  return dict;
}

std::string scalar_text(const std::string& token) {
  if (token == "null") return "None";
  if (token == "true" || token == "false") return token == "true" ? "True" : "False";
  if (token == "NaN") return "nan";
  if (token.ends_with("Infinity")) return token[0] == '-' ? "-inf" : "inf";
  if (token == "-0") return "0";
  const bool whole = token.find_first_of(".eE") == std::string::npos;
  return whole ? token : python_float(std::strtod(token.c_str(), nullptr));
}

Node node_of(JsonStream& stream) {
  switch (stream.peek()) {
    case '{':
      return dict_of(stream);
    case '[': {
      Node list{Node::Kind::kList, "", {}};
      stream.elements([&] { list.children.push_back(node_of(stream)); });
      return list;
    }
    case '"':
      return {Node::Kind::kString, stream.value().get<std::string>(), {}};
    default:
      return {Node::Kind::kScalar, scalar_text(stream.raw_value()), {}};
  }
}

void append_repr(const Node& node, std::string& out) {
  if (node.kind == Node::Kind::kScalar) {
    out += node.text;
    return;
  }
  if (node.kind == Node::Kind::kString) {
    out += python_quoted(node.text);
    return;
  }
  const bool dict = node.kind == Node::Kind::kDict;
  out += dict ? '{' : '[';
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += ", ";
    if (dict) out += python_quoted(node.children[i].key) + ": ";
    append_repr(node.children[i], out);
  }
  out += dict ? '}' : ']';
}

/// Advances `at`; the text must be valid UTF-8.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t character = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length && at + i < text.size(); ++i)
    character = character << 6 | (byte(at + i) & 0x3fu);
  at += length;
  return character;
}

bool is_printable(char32_t character) {
  const auto ranges = unprintable_ranges();
  const auto after = std::ranges::upper_bound(ranges, character, {}, &CodePointRange::first);
  return after == ranges.begin() || character > std::prev(after)->last;
}

std::string escaped(char32_t character) {
  const auto number = static_cast<unsigned>(character);
  if (character == U'\n') return "\\n";
  if (character == U'\r') return "\\r";
  if (character == U'\t') return "\\t";
  if (number < 0x100) return fmt::format("\\x{:02x}", number);
  return number < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

/// Returns the double nearest to `multiple` * 1e-19.
double nearest_double(std::uint64_t multiple) {
  constexpr std::uint64_t kOne = 10'000'000'000'000'000'000u;
  std::array<char, 2 + DecimalSample::kDecimals> text{'0', '.'};
  text[0] = static_cast<char>('0' + multiple / kOne);
  std::uint64_t rest = multiple % kOne;
  for (std::size_t i = text.size(); i-- > 2; rest /= 10) text[i] = static_cast<char>('0' + rest % 10);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
double nearest_double(double value) {
  return value;
}

/// Below this, partitioning is as fast.
constexpr std::size_t kWorthBuckets = 4096;
constexpr int kBucketBits = 12;

/// Maps numbers to 2^12 to 2^13 equal parts of their range.
struct Buckets {
  std::uint64_t least;
  int shift;
  std::size_t of(std::uint64_t value) const { return static_cast<std::size_t>((value - least) >> shift); }
};

/// Order statistics `rank` (from 0) and the next, if any.
template <typename Number>
std::pair<Number, Number> neighbours(std::span<Number> values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  const auto next = std::min_element(place + 1, values.end());
  return {*place, next == values.end() ? *place : *next};
}

/// Counts the numbers in each part of the range, then searches the parts with the ranks. Branch-free.
class BucketSelection {
 public:
  explicit BucketSelection(std::span<const std::uint64_t> values) : values_(values) {
    const auto [least, most] = std::ranges::minmax(values);
    const int bits = 64 - std::countl_zero(most - least);
    buckets_ = {least, std::max(0, bits - kBucketBits)};
    counts_.assign((std::size_t{1} << kBucketBits) + 1, 0);
    for (const std::uint64_t value : values) ++counts_[buckets_.of(value)];
  }

  std::pair<std::uint64_t, std::uint64_t> neighbours_of(std::size_t rank) const {
    std::size_t before = 0;
    std::size_t low = 0;
    while (before + counts_[low] <= rank) before += counts_[low++];
    std::size_t high = low;
    for (std::size_t up_to = before + counts_[low]; up_to <= rank + 1 && up_to < values_.size();) {
      up_to += counts_[++high];
    }
    std::vector<std::uint64_t> inside;
    std::ranges::copy_if(values_, std::back_inserter(inside), [&](std::uint64_t value) {
      const std::size_t bucket = buckets_.of(value);
      return bucket >= low && bucket <= high;
    });
    return neighbours(std::span(inside), rank - before);
  }

 private:
  std::span<const std::uint64_t> values_;
  Buckets buckets_{};
  std::vector<std::size_t> counts_;
};

/// As in numpy, from the nearer end.
double interpolated(double below, double above, double share) {
  const double step = above - below;
  return share >= 0.5 ? above - step * (1 - share) : below + step * share;
}

template <typename Select>
std::vector<double> interpolate(std::size_t count, std::span<const int> percentiles, Select select) {
  std::vector<double> result;
  for (const int percentile : percentiles) {
    const double position = static_cast<double>(count - 1) * (percentile / 100.0);
    const double rank = std::floor(position);
    const auto [below, above] = select(static_cast<std::size_t>(rank));
    result.push_back(interpolated(nearest_double(below), nearest_double(above), position - rank));
  }
  return result;
}

/// Adds pairs, then pairs of pairs, in the lanes of one word.
std::optional<std::uint64_t> eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t digits = word - 0x3030303030303030u;
  if (((digits | (word + 0x4646464646464646u)) & 0x8080808080808080u) != 0) return std::nullopt;
  const std::uint64_t pairs = digits * 10 + (digits >> 8);
  return ((pairs & 0x000000ff000000ffu) * 0x000f424000000064u +
          (pairs >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
         32;
}

struct PlainDecimal {
  std::uint64_t multiple;  ///< of 1e-19
  const char* end;
};

/// 0.123 or 1.123, if a DecimalSample holds it exactly. Reads up to 24 characters.
std::optional<PlainDecimal> plain_decimal(const char* at) {
  static constexpr std::array<std::uint64_t, 20> kPowers = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  if ((at[0] != '0' && at[0] != '1') || at[1] != '.') return std::nullopt;
  const char* const first = at + 2;
  const char* digit = first;
  std::uint64_t decimals = 0;
  for (int i = 0; i < 2; ++i) {
    const auto eight = eight_digits(digit);
    if (!eight) break;
    decimals = decimals * 100'000'000 + *eight;
    digit += 8;
  }
  while (is_digit(*digit) && digit - first < DecimalSample::kDecimals) {
    decimals = decimals * 10 + static_cast<std::uint64_t>(*digit++ - '0');
  }
  // Exponents and more digits take the slow path.
  if (digit == first || is_digit(*digit) || *digit == 'e' || *digit == 'E' || *digit == '.')
    return std::nullopt;
  decimals *= kPowers[static_cast<std::size_t>(DecimalSample::kDecimals - (digit - first))];
  if (at[0] == '1' && __builtin_add_overflow(decimals, kPowers[DecimalSample::kDecimals], &decimals))
    return std::nullopt;
  return PlainDecimal{decimals, digit};
}

const char* take_plain_decimals(const char* at, const char* end, DecimalSample& sample) {
  constexpr std::ptrdiff_t kLongest = 32;
  while (end - at > kLongest) {
    const auto number = plain_decimal(at);
    if (!number || *number->end != ',') break;
    sample.add_decimal(number->multiple);
    at = number->end + (number->end[1] == ' ' ? 2 : 1);
  }
  return at;
}

class Reader : DdpReportWalk {
 public:
  Reader(JsonStream& stream, const std::string& source) : DdpReportWalk(stream, source) {
    report_.source = source;
  }

  DdpReport read() {
    walk();
    return std::move(report_);
  }

 private:
  void begin_results() override { report_.models.clear(); }
  void take_field(const std::string& key) override { report_.fields[key] = python_str(stream()); }
  void begin_model() override { report_.models.emplace_back(); }
  void take_model() override { report_.models.back().name = python_str(stream()); }
  void take_batch_size() override { report_.models.back().batch_size = read_batch_size(); }
  void begin_rounds() override { report_.models.back().rounds.emplace(); }

  /// Skips the first round (without DDP).
  bool begin_round(std::size_t index) override {
    report_.models.back().rounds->emplace_back();
    return index > 0;
  }

  /// Like Python's len() of a list, object or string.
  void take_ranks() override {
    std::size_t count = 0;
    std::set<std::string> keys;
    switch (stream().peek()) {
      case '{':
        stream().members([&](const std::string& key) {
          stream().skip_value();
          keys.insert(key);
        });
        count = keys.size();
        break;
      case '"': {
        const std::string text = stream().value().get<std::string>();
        count = character_count(text);
        break;
      }
      default:
        require('[', "a list");
        stream().elements([&] {
          stream().skip_value();
          ++count;
        });
    }
    report_.models.back().rounds->back().ranks = count;
  }

  void take_measurements() override {
    DdpReport::Round& round = report_.models.back().rounds->back();
    sample_.clear();
    read_numbers(stream(), sample_);
    round.measurements = sample_.size();
    if (sample_.size() > 0)
      std::ranges::copy(sample_.percentiles(DdpReport::kPercentiles), round.percentiles.begin());
  }

  DdpReport::BatchSize read_batch_size() {
    DdpReport::BatchSize size;
    size.is_text = stream().peek() == '"';
    const std::string text = python_str(stream());
    if (text == "True" || text == "False") {
      size.value = text == "True" ? 1 : 0;
      size.text = text == "True" ? "1" : "0";
      return size;
    }
    const auto number = to_number(trimmed(text));
    const bool whole = text.find_first_of(".eEni") == std::string::npos;
    if (!number || !std::isfinite(*number) || (size.is_text && !whole)) {
      throw Error(where() + ": expected a number, found " + in_quotes(text));
    }
    size.value = *number;
    // Towards zero, without the sign of a zero, like Python's int().
    size.text = whole ? std::string(trimmed(text)) : fmt::format("{:.0f}", std::trunc(*number) + 0.0);
    return size;
  }

  DdpReport report_;
  DecimalSample sample_;
};

struct Place {
  const DdpReport& report;
  std::size_t model = 0;

  template <typename T>
  const T& required(const std::optional<T>& member, const std::string& name) const {
    if (!member) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}: missing", report.source, model, name));
    }
    return *member;
  }
};

std::string value_of(const DdpReport& report, const std::string& key) {
  const auto found = report.fields.find(key);
  return found == report.fields.end() ? "-" : found->second;
}

std::string head(const DdpReport& a, const DdpReport& b) {
  const std::string rule(20, '-');
  std::string out = fmt::format("{:20} {:>20}      {:>20}\n", "", "baseline", "test");
  out += fmt::format("{:20} {:>20}      {:>20}\n", "", rule, rule);
  std::set<std::string> keys;
  for (const auto& [key, value] : a.fields) keys.insert(key);
  for (const auto& [key, value] : b.fields) keys.insert(key);
  for (const std::string& key : keys) {
    out += python_padded(key + ":", 20, false) + " " + python_padded(value_of(a, key), 20, true) + "  vs  " +
           python_padded(value_of(b, key), 20, true) + "\n";
  }
  return out + "\n";
}

std::string measurement(int percentile, double before, double after, double batch_size, const Place& test) {
  const double rate = std::trunc(batch_size / after);
  if (!std::isfinite(rate)) {
    throw Error(fmt::format("{}: /benchmark_results/{}: cannot compute a rate from a time of {}",
                            test.report.source, test.model, after == 0 ? "zero" : python_float(after)));
  }
  const double delta = -100 * ((after - before) / before);
  // Adding zero removes the sign of a zero.
  return fmt::format("  p{:02}: {}s {:7.0f}/s {}%", percentile, python_fixed(after, 8, 3, false), rate + 0.0,
                     python_fixed(std::isnan(delta) ? std::fabs(delta) : delta, 8, 1, true));
}

void append_round(std::string& out, const Place& a, const Place& b, std::size_t index, double batch_size) {
  const DdpReport::Round& before = (*a.report.models[a.model].rounds)[index];
  const DdpReport::Round& after = (*b.report.models[b.model].rounds)[index];
  const std::string path = fmt::format("result/{}/", index);
  const std::size_t ranks = a.required(before.ranks, path + "ranks");
  if (ranks != b.required(after.ranks, path + "ranks")) return;
  for (const auto& [place, round] : {std::pair{&a, &before}, std::pair{&b, &after}}) {
    if (round->measurements == 0) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}measurements: missing or empty",
                              place->report.source, place->model, path));
    }
  }
  out += fmt::format("{:>4} GPUs:", ranks);
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out +=
        measurement(DdpReport::kPercentiles[p], before.percentiles[p], after.percentiles[p], batch_size, b);
  }
  out += '\n';
}

void append_model(std::string& out, const Place& a, const Place& b) {
  const DdpReport::Model& before = a.report.models[a.model];
  const DdpReport::Model& after = b.report.models[b.model];
  const std::string& name = a.required(before.name, "model");
  if (name != b.required(after.name, "model")) return;
  const DdpReport::BatchSize& size = a.required(before.batch_size, "batch_size");
  const DdpReport::BatchSize& other = b.required(after.batch_size, "batch_size");
  if (size.is_text != other.is_text || size.value != other.value) return;
  out += fmt::format("Benchmark: {} with batch size {}\n\n{:10}", name, size.text, "");
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out += fmt::format("{:>16}{:>10}{:>10}", "sec/iter", "ex/sec", "diff");
  }
  out += '\n';
  const std::size_t rounds =
      std::min(a.required(before.rounds, "result").size(), b.required(after.rounds, "result").size());
  const double batch_size = std::trunc(size.value);
  for (std::size_t i = 1; i < rounds; ++i) append_round(out, a, b, i, batch_size);
  out += '\n';
}

}  // namespace

std::span<const CodePointRange> unprintable_ranges() {
  return kRanges;
}

std::string python_str(JsonStream& stream) {
  const Node node = node_of(stream);
  if (node.kind == Node::Kind::kString) return node.text;
  std::string out;
  append_repr(node, out);
  return out;
}

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + 1 + (text[e + 1] == '+' ? 1 : 0), end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  std::string fixed(350, '\0');
  const auto fixed_end =
      std::to_chars(fixed.data(), fixed.data() + fixed.size(), value, std::chars_format::fixed).ptr;
  fixed.resize(static_cast<std::size_t>(fixed_end - fixed.data()));
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string python_quoted(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t character = next_character(text, at);
    if (character == static_cast<char32_t>(quote) || character == U'\\') {
      out += '\\';
      out += static_cast<char>(character);
    } else if (is_printable(character)) {
      out += text.substr(start, at - start);
    } else {
      out += escaped(character);
    }
  }
  return out + quote;
}

std::string python_fixed(double value, std::size_t width, int decimals, bool with_plus) {
  std::string text = std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : python_float(value);
  if (with_plus && text[0] != '-') text.insert(0, "+");
  return python_padded(text, width, true);
}

std::string python_padded(std::string_view text, std::size_t width, bool on_left) {
  const auto characters = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
  const std::string padding(width > characters ? width - characters : 0, ' ');
  return on_left ? padding + std::string(text) : std::string(text) + padding;
}

void DecimalSample::clear() {
  decimals_.clear();
  doubles_.clear();
}

std::vector<double> DecimalSample::percentiles(std::span<const int> percentiles) {
  if (std::ranges::any_of(doubles_, [](double value) { return std::isnan(value); }))
    return std::vector<double>(percentiles.size(), std::numeric_limits<double>::quiet_NaN());
  if (!doubles_.empty()) {
    std::vector<double> all = doubles_;
    for (const std::uint64_t decimal : decimals_) all.push_back(nearest_double(decimal));
    return interpolate(all.size(), percentiles,
                       [&](std::size_t rank) { return neighbours(std::span(all), rank); });
  }
  if (decimals_.size() < kWorthBuckets) {
    return interpolate(decimals_.size(), percentiles,
                       [&](std::size_t rank) { return neighbours(std::span(decimals_), rank); });
  }
  const BucketSelection selection(decimals_);
  return interpolate(decimals_.size(), percentiles,
                     [&](std::size_t rank) { return selection.neighbours_of(rank); });
}

void read_numbers(JsonStream& stream, DecimalSample& sample) {
  stream.numbers(
      [&sample](const char* begin, const char* end) { return take_plain_decimals(begin, end, sample); },
      [&](std::string_view token) {
        if (token.empty() || token == "null") stream.refuse("expected a number");
        if (token == "NaN") return sample.add_double(std::numeric_limits<double>::quiet_NaN());
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        if (token.ends_with("Infinity")) return sample.add_double(token[0] == '-' ? -kInfinity : kInfinity);
        // Pads the token: plain_decimal() reads up to 24 characters.
        const auto plain =
            token.size() < 24 ? plain_decimal(std::string(token).append(24, '\0').c_str()) : std::nullopt;
        if (plain) {
          sample.add_decimal(plain->multiple);
        } else {
          sample.add_double(json_number_value(token));
        }
      });
}

DdpReport read_ddp_report(const std::filesystem::path& path) {
  JsonStream stream(path);
  stream.accept_python_numbers();
  return Reader(stream, path.string()).read();
}

std::string ddp_diff(const DdpReport& baseline, const DdpReport& test) {
  std::string out = head(baseline, test);
  const std::size_t models = std::min(baseline.models.size(), test.models.size());
  for (std::size_t i = 0; i < models; ++i) append_model(out, {baseline, i}, {test, i});
  return out;
}

std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test) {
  constexpr std::uintmax_t kWorthAThread = 1 << 20;
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(test, ignored);
  const bool large = !ignored && bytes > kWorthAThread;
  auto other = std::async(large ? std::launch::async : std::launch::deferred, read_ddp_report, test);
  const DdpReport before = read_ddp_report(baseline);
  return ddp_diff(before, other.get());
}

}  // namespace headroom
