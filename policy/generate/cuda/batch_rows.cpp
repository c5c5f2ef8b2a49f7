// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/batch_rows.hpp"

#include <algorithm>
#include <cstring>

namespace warpsmith::policy::cuda {
namespace {

constexpr int64_t alignment = 16;

int32_t as_index(size_t value) {
  return static_cast<int32_t>(value);
}

bool continues(const DecodeRow& row, const DecodeRow& before) {
  return row.blocks.data() == before.blocks.data() && row.position == before.position + 1;
}

SampleOrder order_of(const DecodeRow& row) {
  const SamplingParams& params = *row.sample;
  SampleOrder order{.uniform = row.uniform};
  order.greedy = params.temperature == 0 ? 1 : 0;
  if (order.greedy != 0) return order;
  order.inverse_temperature = static_cast<float>(1.0 / params.temperature);
  order.top_p = static_cast<float>(params.top_p);
  order.top_k = params.top_k;
  return order;
}

void add_row(const DecodeRow& row, BatchRows& batch) {
  if (row.sample != nullptr) {
    batch.sampled_rows.push_back(as_index(batch.tokens.size()));
    batch.orders.push_back(order_of(row));
  }
  const auto block = static_cast<size_t>(row.position / block_tokens);
  batch.tokens.push_back(row.token);
  batch.from_samples.push_back(row.from_sample);
  batch.positions.push_back(row.position);
  batch.slots.push_back(
      static_cast<int32_t>(row.blocks[block] * block_tokens + row.position % block_tokens));
  batch.sequences.push_back(as_index(batch.last_lengths.size()));
}

/// Ends the sequence whose last row is `row`.
void end_sequence(const DecodeRow& row, BatchRows& batch) {
  const auto used = static_cast<std::ptrdiff_t>(blocks_for(row.position + 1));
  batch.blocks.insert(batch.blocks.end(), row.blocks.begin(), row.blocks.begin() + used);
  batch.row_starts.push_back(as_index(batch.tokens.size()));
  batch.block_starts.push_back(as_index(batch.blocks.size()));
  batch.last_lengths.push_back(static_cast<int32_t>(row.position % block_tokens) + 1);
}

/// Steps between neighbouring sizes, so that padding stays a small part.
int64_t next_size(int64_t size) {
  if (size < 8) return 2 * size;
  if (size < 64) return size + 8;
  return size + (size < 256 ? 16 : 64);
}

template <class T>
void put(const std::vector<T>& values, int64_t offset, std::byte* buffer) {
  std::memcpy(buffer + offset, values.data(), values.size() * sizeof(T));
}

}  // namespace

BatchRows pack_rows(std::span<const DecodeRow> rows) {
  BatchRows batch;
  batch.row_starts.push_back(0);
  batch.block_starts.push_back(0);
  for (size_t i = 0; i < rows.size(); ++i) {
    add_row(rows[i], batch);
    const bool last = i + 1 == rows.size() || !continues(rows[i + 1], rows[i]);
    if (last) end_sequence(rows[i], batch);
  }
  return batch;
}

void pad_to(BatchRows& batch, int64_t count, BlockId scratch_block) {
  const SamplingParams greedy{.temperature = 0};
  const std::vector<BlockId> scratch{scratch_block};
  const DecodeRow row{.blocks = scratch, .sample = &greedy};
  while (batch.rows() < count) {
    add_row(row, batch);
    end_sequence(row, batch);
  }
}

std::vector<int64_t> graph_sizes(int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < most; size = next_size(size)) sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

int64_t graph_size_for(std::span<const int64_t> sizes, int64_t rows) {
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return found == sizes.end() ? 0 : *found;
}

BatchLayout::BatchLayout(int64_t row_count, int64_t sequence_count, int64_t sample_count) {
  int64_t end = 0;
  const auto place = [&end](int64_t count, size_t size) {
    const int64_t start = end;
    end = (start + count * static_cast<int64_t>(size) + alignment - 1) / alignment * alignment;
    return start;
  };
  tokens = place(row_count, sizeof(int32_t));
  from_samples = place(row_count, sizeof(int32_t));
  positions = place(row_count, sizeof(int32_t));
  slots = place(row_count, sizeof(int32_t));
  sequences = place(row_count, sizeof(int32_t));
  row_starts = place(sequence_count + 1, sizeof(int32_t));
  block_starts = place(sequence_count + 1, sizeof(int32_t));
  last_lengths = place(sequence_count, sizeof(int32_t));
  sampled_rows = place(sample_count, sizeof(int32_t));
  orders = place(sample_count, sizeof(SampleOrder));
  blocks = end;
}

void write_batch(const BatchRows& batch, const BatchLayout& layout, std::byte* buffer) {
  put(batch.tokens, layout.tokens, buffer);
  put(batch.from_samples, layout.from_samples, buffer);
  put(batch.positions, layout.positions, buffer);
  put(batch.slots, layout.slots, buffer);
  put(batch.sequences, layout.sequences, buffer);
  put(batch.row_starts, layout.row_starts, buffer);
  put(batch.block_starts, layout.block_starts, buffer);
  put(batch.last_lengths, layout.last_lengths, buffer);
  put(batch.sampled_rows, layout.sampled_rows, buffer);
  put(batch.orders, layout.orders, buffer);
  put(batch.blocks, layout.blocks, buffer);
}

}  // namespace warpsmith::policy::cuda
