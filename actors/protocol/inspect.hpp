// SPDX-License-Identifier: Apache-2.0
// CAF's serialisation of the messages: each is one byte blob of the codec. Bytes are CAF's fast
// path, and a blob avoids CAF's float packing, which hangs on NaN and infinity (0.17.6).
#pragma once

#include <caf/error.hpp>
#include <caf/make_message.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <concepts>

#include "actors/protocol/messages.hpp"
#include "actors/protocol/type_ids.hpp"
#include "runtime/codec.hpp"

namespace warpsmith::actors {

template <class Inspector, class Record>
typename Inspector::result_type inspect_packed(Inspector& f, Record& record) {
  if constexpr (Inspector::reads_state) {
    ByteBuffer bytes = codec::pack(record);
    return f(bytes);
  } else {
    ByteBuffer bytes;
    return f(bytes, caf::meta::load_callback([&]() -> caf::error {
               auto read = codec::unpack<Record>(bytes);
               if (!read) return caf::make_error(caf::sec::invalid_argument, read.error().message);
               record = std::move(*read);
               return caf::none;
             }));
  }
}

}  // namespace warpsmith::actors

namespace warpsmith {

/// For every packed message; argument-dependent look-up finds it from each namespace.
template <class Inspector, class Record>
  requires actors::IsPacked<Record>::value
typename Inspector::result_type inspect(Inspector& f, Record& record) {
  return actors::inspect_packed(f, record);
}

namespace actors {
using warpsmith::inspect;
}
namespace synthesis {
using warpsmith::inspect;
}

}  // namespace warpsmith
