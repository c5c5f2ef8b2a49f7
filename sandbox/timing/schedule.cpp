// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace warpsmith::sandbox {
namespace {

/// 0, 1, n−1, 2, n−2, …: the differences of its neighbours are all of 1 … n−1; half of them occur
/// twice if n is odd.
std::vector<size_t> first_order(size_t n) {
  std::vector<size_t> places{0};
  for (size_t i = 1; places.size() < n; ++i) {
    places.push_back(i);
    if (places.size() < n) places.push_back(n - i);
  }
  return places;
}

/// One order of each mirrored pair. The design's square has n orders, each shifted by one. For even
/// n the mirror image of an order is the one n/2 further on; for odd n it is not in the square.
std::vector<Block> half_cycle(const std::vector<Implementation>& implementations) {
  const size_t n = implementations.size();
  const std::vector<size_t> places = first_order(n);
  std::vector<Block> orders(static_cast<size_t>(cycle_of(n)) / 2);
  for (size_t shift = 0; shift < orders.size(); ++shift) {
    for (const size_t place : places) orders[shift].push_back(implementations[(place + shift) % n]);
  }
  return orders;
}

}  // namespace

int cycle_of(size_t implementations) {
  assert(implementations >= 2 && "nothing to compare");
  return static_cast<int>(implementations % 2 == 0 ? implementations : 2 * implementations);
}

int block_count(double baseline_ms, double budget_ms, int least, int most, int cycle) {
  const double wanted = budget_ms / std::max(baseline_ms, 1e-3);
  const double bounded = std::clamp(wanted, double(least), double(most));
  return cycle * static_cast<int>(std::ceil(bounded / cycle));
}

std::vector<Block> make_schedule(std::vector<Implementation> implementations, int blocks,
                                 RandomStream& random) {
  std::vector<Block> schedule;
  while (static_cast<int>(schedule.size()) < blocks) {
    std::shuffle(implementations.begin(), implementations.end(), random);
    std::vector<Block> firsts = half_cycle(implementations);
    std::shuffle(firsts.begin(), firsts.end(), random);
    for (Block& block : firsts) {
      if (random.below(2) == 1) std::reverse(block.begin(), block.end());
      schedule.push_back(block);
      std::reverse(block.begin(), block.end());
      schedule.push_back(block);
    }
  }
  schedule.resize(static_cast<size_t>(std::max(blocks, 0)));
  return schedule;
}

}  // namespace warpsmith::sandbox
