// SPDX-License-Identifier: Apache-2.0
// The record of a verdict, sufficient to check it.
#pragma once

#include <string>

#include "sandbox/judge/evaluation.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

/// JSON: the revealed seed, errors of each set, raw samples, no-ops, bounds, machine. `ragged` is
/// the outcome on hidden shapes, if the task has any.
std::string evidence_json(const EvaluationOutcome& outcome, const IngestRecord& record,
                          const SecretSeed& seed, const Machine& machine,
                          const EvaluationOutcome* ragged = nullptr);

}  // namespace warpsmith::sandbox
