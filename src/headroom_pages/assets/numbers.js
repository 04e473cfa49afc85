// SPDX-License-Identifier: Apache-2.0
// As base/units.h and report/metric_text.h, so that pages and terminals agree.
(function () {
  "use strict";
  const kTimes = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };
  const numbers = {};

  // Three significant digits, without an exponent for ordinary sizes.
  numbers.number = function (value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "?";
    if (value === 0) return "0";
    const rounded = Number(value.toExponential(2)), exponent = Math.floor(Math.log10(Math.abs(rounded)) + 1e-9);
    if (exponent < -6 || exponent >= 15) return value.toExponential(2);
    return rounded.toFixed(exponent >= 2 ? 0 : 2 - exponent);
  };

  numbers.time_ns = function (ns) {
    const names = ["ns", "µs", "ms", "s"];
    let i = 0;
    while (i + 1 < names.length && Math.abs(Number(ns.toExponential(2))) >= 1000) {
      ns /= 1000;
      ++i;
    }
    return numbers.number(ns) + " " + names[i];
  };

  // Five digits, for values that differ by tenths of a per cent.
  numbers.exact = function (value, unit) {
    const size = Math.abs(value);
    const text = size >= 1e7 || (size > 0 && size < 1e-4) ? value.toExponential(4) : size >= 1e4 ? value.toFixed(0) : value.toPrecision(5);
    return text + (unit && unit !== "1" ? " " + (unit === "us" ? "µs" : unit) : "");
  };

  // "+10.0 %"
  numbers.change = (ratio) => (ratio >= 1 ? "+" : "\u2212") + Math.abs((ratio - 1) * 100).toFixed(1) + " %";

  numbers.percent = (share) => numbers.number(share * 100) + " %";
  numbers.is_time = (unit) => unit in kTimes;
  numbers.in_ns = (value, unit) => value * (kTimes[unit] || 1);

  numbers.value = function (value, unit) {
    if (value === null || value === undefined) return "?";
    if (unit in kTimes) return numbers.time_ns(value * kTimes[unit]);
    return numbers.number(value) + (unit && unit !== "1" ? " " + unit : "");
  };

  // Whether the interval is symmetric enough for "±".
  function is_even(value, low, high) {
    const below = value - low, above = high - value;
    if (below + above <= 0.02 * Math.abs(value)) return true;
    return below > 0 && above > 0 && below <= 2 * above && above <= 2 * below && below < Math.abs(value);
  }

  // Half the width relative to the value, or both ends.
  numbers.spread = function (value, low, high, unit) {
    if (low === null || low === undefined) return "?";
    if (is_even(value, low, high)) return "±" + (((high - low) / 2 / Math.abs(value)) * 100).toFixed(1) + " %";
    return numbers.value(low, unit) + "–" + numbers.value(high, unit);
  };

  // "92.5 % ±0.8", in percent.
  numbers.share = function (share, low, high) {
    if (low === null || low === undefined) return numbers.percent(share);
    if (is_even(share, low, high)) return numbers.percent(share) + " ±" + (((high - low) / 2) * 100).toFixed(1);
    return numbers.percent(share) + " (" + numbers.number(low * 100) + "–" + numbers.percent(high) + ")";
  };

  numbers.element = (value, text) => headroom.element("data", { value: String(value) }, text);

  headroom.numbers = numbers;
})();
