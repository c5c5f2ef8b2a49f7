// SPDX-License-Identifier: Apache-2.0
// Creates the tables of a run database, and checks that a file has them.
#pragma once

#include "runtime/run/sqlite.hpp"

namespace warpsmith {

/// Raised with every change of the tables or of the records packed in them; a file of another
/// version is refused.
inline constexpr int64_t run_schema_version = 4;
/// "WARP": marks the file as a run database.
inline constexpr int64_t run_application_id = 0x57415250;

/// Creates the tables in an empty database; checks the version and mark of any other. `unsupported`
/// for another version, `corrupt` for a database that is not a run's.
Result<void> prepare_schema(SqlConnection& connection, SqlAccess access);

}  // namespace warpsmith
