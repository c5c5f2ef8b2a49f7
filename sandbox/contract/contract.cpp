// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/contract.hpp"

namespace warpsmith::sandbox {

void Candidate::keep(Contestant contestant, Deadline /*deadline*/) {
  (void)contestant.process().kill();
}

OrFailure<PartyKernels> Candidate::record(const CandidatePlace& /*place*/, Deadline /*deadline*/) {
  return PartyKernels{.reason = "kernels of this contract are not recorded"};
}

}  // namespace warpsmith::sandbox
