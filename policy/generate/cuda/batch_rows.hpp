// SPDX-License-Identifier: Apache-2.0
// The layout of a batch for a GPU: one flat array for each field of its rows, sequences and
// samples. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/generate/cuda/device_types.hpp"
#include "policy/generate/engine/backend.hpp"

namespace warpsmith::policy::cuda {

/// N rows of S sequences, of which M are sampled. A sequence's rows are consecutive positions.
struct BatchRows {
  std::vector<int32_t> tokens;        // (N)
  std::vector<int32_t> from_samples;  // (N): see DecodeRow::from_sample
  std::vector<int32_t> positions;     // (N)
  std::vector<int32_t> slots;         // (N): where key and value go: block x 16 + offset
  std::vector<int32_t> sequences;     // (N): the row's sequence
  std::vector<int32_t> row_starts;    // (S + 1): the first row of each sequence
  std::vector<int32_t> block_starts;  // (S + 1): the first of each sequence's `blocks`
  std::vector<int32_t> last_lengths;  // (S): positions in the last block, 1 to 16
  std::vector<int32_t> sampled_rows;  // (M)
  std::vector<SampleOrder> orders;    // (M)
  std::vector<int32_t> blocks;        // of all sequences

  int64_t rows() const { return static_cast<int64_t>(tokens.size()); }
  int64_t sequence_count() const { return static_cast<int64_t>(last_lengths.size()); }
  int64_t samples() const { return static_cast<int64_t>(sampled_rows.size()); }
  /// True if every sequence has one row and is sampled, as in a step without prefill.
  bool only_decodes() const { return rows() == sequence_count() && rows() == samples(); }
};

/// Lays out the rows of a batch.
BatchRows pack_rows(std::span<const DecodeRow> rows);

/// Adds sequences of one greedy row until there are `count`. They use `scratch_block`, which no
/// session has. Only for a batch that `only_decodes`.
void pad_to(BatchRows& batch, int64_t count, BlockId scratch_block);

/// The sizes for which a step is recorded as a graph: the smallest one that fits a batch is used,
/// so at most a third of its rows are padding, and from 64 rows on a fifth. Ends with `most`.
std::vector<int64_t> graph_sizes(int64_t most);
/// The smallest of `sizes` that fits `rows`; 0 if none does.
int64_t graph_size_for(std::span<const int64_t> sizes, int64_t rows);

/// The place of each array of a batch in one buffer, in bytes from its start. `blocks` comes last:
/// only its length varies between batches of equal counts.
struct BatchLayout {
  BatchLayout(int64_t rows, int64_t sequences, int64_t samples);

  int64_t tokens, from_samples, positions, slots, sequences, row_starts, block_starts, last_lengths,
      sampled_rows, orders, blocks;
  /// The bytes of a batch with that many blocks.
  int64_t bytes(int64_t block_count) const {
    return blocks + block_count * static_cast<int64_t>(sizeof(int32_t));
  }
};

/// Copies the arrays of a batch into `buffer`, which has room for `bytes` of its layout.
void write_batch(const BatchRows& batch, const BatchLayout& layout, std::byte* buffer);

}  // namespace warpsmith::policy::cuda
