// SPDX-License-Identifier: Apache-2.0
// The threads that answer connections, and a bounded list of those that wait for one.
#pragma once

#include <cstddef>

namespace httplib {
class TaskQueue;
}

namespace warpsmith::commands {

/// For the library, which owns it. Beyond `waiting` connections, further ones go to one thread that
/// only refuses, where `is_refusing` tells the handler so. Once as many wait for that one, the
/// server accepts none: the kernel then holds and refuses connections.
httplib::TaskQueue* make_bounded_queue(size_t threads, size_t waiting);

/// True on the thread that refuses.
bool is_refusing();

}  // namespace warpsmith::commands
