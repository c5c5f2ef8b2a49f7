// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/wrong_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace warpsmith::sandbox {
namespace {

// Fewer wrong elements than this lie in some order by chance.
constexpr uint64_t least_for_a_pattern = 4, least_steps = 8;
// The share of a part's elements that must be wrong before the part counts as wrong: some elements
// of a part that was never computed are right by chance, for example zeros.
constexpr double least_share = 0.25;
// With a share p of wrong elements, n others are right by chance with probability (1 - p)^n, which
// is less than exp(-p n).
constexpr double least_surplus = 8;
constexpr double same = 1e-3;   // relative difference of equal factors and equal values
constexpr double close = 0.02;  // relative error of lower precision or a less exact formula

/// An output as a matrix: the rows are all axes but the last.
struct Extents {
  uint64_t rows = 1, columns = 1;
};

Extents extents_of(const WrongOutput& output) {
  Extents out;
  if (output.shape.empty()) return out;
  out.columns = static_cast<uint64_t>(output.shape.back());
  out.rows = output.wrong.size() / std::max<uint64_t>(out.columns, 1);
  return out;
}

/// Where the wrong elements lie.
struct Spread {
  uint64_t count = 0, first = 0, last = 0;
  uint64_t first_column = 0, last_column = 0;
  uint64_t step = 0;        // greatest common divisor of the distances between wrong elements
  uint64_t rows = 0;        // with at least one wrong element
  uint64_t whole_rows = 0;  // with wrong elements only
};

Spread spread_of(const WrongOutput& output) {
  const Extents extents = extents_of(output);
  Spread out;
  out.first_column = extents.columns;
  for (uint64_t row = 0, i = 0; row < extents.rows; ++row) {
    uint64_t in_row = 0;
    for (uint64_t column = 0; column < extents.columns; ++column, ++i) {
      if (!output.wrong[i]) continue;
      if (out.count++ == 0) out.first = i;
      out.step = std::gcd(out.step, i - out.first);
      out.last = i;
      out.first_column = std::min(out.first_column, column);
      out.last_column = std::max(out.last_column, column);
      ++in_row;
    }
    out.rows += in_row > 0 ? 1 : 0;
    out.whole_rows += in_row == extents.columns ? 1 : 0;
  }
  return out;
}

/// Whether `count` wrong elements fill a part of `part` elements, and the `right` ones elsewhere
/// are too many to be right by chance.
bool fills(uint64_t count, uint64_t part, uint64_t right) {
  const double share = static_cast<double>(count) / static_cast<double>(part);
  return share >= least_share && share * static_cast<double>(right) >= least_surplus;
}

/// "the last 3 of 8 rows".
std::string part_text(const char* which, uint64_t part, uint64_t all, const char* what) {
  return fmt::format("the {} {} of {} {}", which, part, all, what);
}

/// Every n-th element is wrong.
std::string step_text(const Spread& spread, const Extents& extents) {
  if (spread.step < 2 || spread.step >= extents.columns || spread.count < least_steps) return {};
  const uint64_t places = (spread.last - spread.first) / spread.step + 1;
  return 2 * spread.count > places ? fmt::format("only every {}. element is wrong", spread.step)
                                   : "";
}

/// The wrong elements are the last columns, or the first ones.
std::string column_text(const Spread& spread, const Extents& extents) {
  const uint64_t last = extents.columns - spread.first_column, first = spread.last_column + 1;
  if (extents.rows < 2) return {};
  if (fills(spread.count, last * extents.rows, spread.first_column * extents.rows)) {
    return part_text("last", last, extents.columns, "columns are wrong: the rest of a vector loop");
  }
  if (fills(spread.count, first * extents.rows, (extents.columns - first) * extents.rows)) {
    return part_text("first", first, extents.columns, "columns are wrong");
  }
  return {};
}

/// The wrong elements are the end of the output, or its start.
std::string end_text(const Spread& spread, const Extents& extents) {
  const uint64_t size = extents.rows * extents.columns, after = spread.last + 1;
  if (fills(spread.count, size - spread.first, spread.first)) {
    const bool rows = spread.first % extents.columns == 0 && extents.rows > 1;
    if (!rows || 2 * spread.first < size) {
      return fmt::format("only the first block is right: {} of {} elements", spread.first, size);
    }
    return part_text("last", extents.rows - spread.first / extents.columns, extents.rows,
                     "rows are not written or not computed");
  }
  const bool rows = after % extents.columns == 0 && extents.rows > 1;
  if (rows && fills(spread.count, after, size - after)) {
    return part_text("first", after / extents.columns, extents.rows, "rows are wrong");
  }
  return {};
}

/// Some rows are wrong as a whole, and not those of one end.
std::string row_text(const Spread& spread, const Extents& extents) {
  if (extents.columns < least_for_a_pattern || spread.rows == extents.rows) return {};
  if (spread.whole_rows < spread.rows) return {};
  const uint64_t first = spread.first / extents.columns, last = spread.last / extents.columns;
  const bool at_an_end = first == 0 || last + 1 == extents.rows;
  if (at_an_end && last + 1 - first == spread.rows) return {};
  return fmt::format("{} of {} rows are wrong, each as a whole", spread.rows, extents.rows);
}

/// What the position of the wrong elements says; empty for all elements, and for scattered ones.
std::string place_text(const WrongOutput& output) {
  const Spread spread = spread_of(output);
  const Extents extents = extents_of(output);
  if (spread.count < least_for_a_pattern || spread.count == output.wrong.size()) return {};
  for (const auto& text : {step_text(spread, extents), column_text(spread, extents),
                           row_text(spread, extents), end_text(spread, extents)}) {
    if (!text.empty()) return text;
  }
  return {};
}

bool is_near(double a, double b, double share) {
  return std::fabs(a - b) <= share * std::max(std::fabs(a), std::fabs(b));
}

bool all_of(const std::vector<WrongElement>& examples,
            const std::function<bool(const WrongElement&)>& what) {
  return std::ranges::all_of(examples, what);
}

/// One number for all examples that `of` derives; empty if they differ. The expected values must
/// differ, or any constant would do.
std::optional<double> common(const std::vector<WrongElement>& examples,
                             const std::function<double(const WrongElement&)>& of) {
  const double first = of(examples.front());
  const bool varies = !all_of(examples, [&](const WrongElement& e) {
    return is_near(e.expected, examples.front().expected, same);
  });
  const bool equal = all_of(examples, [&](const WrongElement& e) {
    const double own = of(e);
    return std::isfinite(own) && is_near(own, first, same);
  });
  return varies && equal ? std::optional{first} : std::nullopt;
}

/// What the values of the wrong elements say.
LikelyCause value_cause(std::vector<WrongElement> examples) {
  std::erase_if(examples, [](const WrongElement& e) {
    return e.unwritten || !std::isfinite(e.got) || !std::isfinite(e.expected);
  });
  if (examples.size() < least_for_a_pattern) return {};
  if (all_of(examples, [](const WrongElement& e) { return e.got == 0; })) {
    return {"the wrong elements are zero", {}};
  }
  const auto factor = common(examples, [](const auto& e) { return e.got / e.expected; });
  if (factor && !is_near(*factor, 1, 5 * same)) {
    const bool negative = is_near(*factor, -1, same);
    return {negative ? "the sign is wrong" : "all are off by one constant factor", factor};
  }
  if (const auto offset = common(examples, [](const auto& e) { return e.got - e.expected; })) {
    return {"all are off by one constant offset", offset};
  }
  if (all_of(examples, [](const auto& e) { return is_near(e.got, e.exchanged, same); })) {
    return {"the output is transposed in its last two axes", {}};
  }
  if (all_of(examples, [](const auto& e) { return is_near(e.got, e.expected, close); })) {
    return {"all are close: lower precision, or a less exact formula", {}};
  }
  return {};
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "" : between) + part;
  }
  return out;
}

}  // namespace

bool WrongOutput::is_whole() const {
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  return wrong.size() == count;
}

LikelyCause likely_cause(const WrongOutput& output) {
  const auto count = static_cast<uint64_t>(std::ranges::count(output.wrong, true));
  if (output.nonfinite.unwritten == output.wrong.size()) return {"nothing was written", {}};
  // Where the wrong elements end is known only if all were read.
  const std::string place = output.is_whole() ? place_text(output) : "";
  // The pattern of elements that were not written has no meaning as a value.
  if (output.nonfinite.unwritten == count) return {place, {}};
  LikelyCause cause = value_cause(output.examples);
  cause.text = joined({place, cause.text}, "; ");
  return cause;
}

std::string element_name(const std::string& output, const std::vector<int64_t>& shape,
                         uint64_t index) {
  std::vector<std::string> places;
  for (auto axis = shape.rbegin(); axis != shape.rend(); ++axis) {
    const auto extent = static_cast<uint64_t>(*axis);
    places.push_back(std::to_string(index % extent));
    index /= extent;
  }
  std::ranges::reverse(places);
  return places.empty() ? output : output + '[' + joined(places, ", ") + ']';
}

std::string counts_text(const NonfiniteCounts& counts) {
  const auto part = [](uint64_t count, const char* what) {
    return count == 0 ? "" : std::to_string(count) + what;
  };
  return joined({part(counts.unwritten, " not written"), part(counts.not_a_number, " not a number"),
                 part(counts.infinite, " wrongly infinite"),
                 part(counts.finite, " finite where the reference is not")},
                ", ");
}

WrongReport report_on(const std::vector<WrongOutput>& outputs, uint64_t wrong, uint64_t elements) {
  const WrongOutput& first = outputs.front();
  const WrongElement& example = first.examples.front();
  WrongReport out{.element = element_name(first.name, first.shape, example.index),
                  .wrong = wrong,
                  .elements = elements,
                  .cause = likely_cause(first),
                  .got = example.got,
                  .expected = example.expected,
                  .unwritten = example.unwritten};
  for (const WrongOutput& one : outputs) {
    out.partial = out.partial || !one.is_whole();
    out.nonfinite.unwritten += one.nonfinite.unwritten;
    out.nonfinite.not_a_number += one.nonfinite.not_a_number;
    out.nonfinite.infinite += one.nonfinite.infinite;
    out.nonfinite.finite += one.nonfinite.finite;
  }
  return out;
}

}  // namespace warpsmith::sandbox
