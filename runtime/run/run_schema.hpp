// SPDX-License-Identifier: Apache-2.0
// The tables of a run database, and the check that a file holds them.
#pragma once

#include "runtime/run/sqlite.hpp"

namespace warpsmith {

/// Goes up with every change of the tables, or of the records packed in them; an older or newer
/// file is refused by name.
inline constexpr int64_t run_schema_version = 2;
/// "WARP": marks the file as a run database.
inline constexpr int64_t run_application_id = 0x57415250;

/// Makes the tables in an empty database; checks version and mark of any other. `unsupported` for
/// another version, `corrupt` for a database that is not a run's.
Result<void> prepare_schema(SqlConnection& connection, SqlAccess access);

}  // namespace warpsmith
