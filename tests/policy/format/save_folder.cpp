// SPDX-License-Identifier: Apache-2.0
// Saves a model folder and prints the engine's greedy tokens, for open_with_transformers.py.
#include <cstdio>
#include <cstdlib>

#include "policy/format/hf_folder.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"

using namespace warpsmith::policy;

namespace {

void print_greedy(const Transformer& model) {
  auto engine = make_cpu_engine(model.config(), {.max_session_tokens = 128});
  (*engine)->load({}, model.weights());
  EngineRequest request{.session = 1, .whole = true, .new_tokens = {5, 6, 7}};
  request.params.temperature = 0;
  request.params.max_tokens = 32;
  if (!(*engine)->submit(request)) std::exit(1);
  while ((*engine)->has_work()) (*engine)->step();
  for (const int32_t token : (*engine)->tokens_of(1)) std::printf("%d ", token);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto model = load_hf_model(argv[1]);
  if (!model || !save_hf_model(argv[2], *model)) return 1;
  print_greedy(*model);
  return 0;
}
