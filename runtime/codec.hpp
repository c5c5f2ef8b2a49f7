// SPDX-License-Identifier: Apache-2.0
// Packs records into bytes and back, with cereal's visitors over two small custom archives. Numbers
// are little-endian; floats are stored as their bits, so NaN and infinities survive. Lengths are
// checked against the remaining bytes, and elements are made as they are read, so hostile input
// costs no more memory than valid input of the same length.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "runtime/bytes.hpp"
#include "runtime/describe.hpp"
#include "runtime/result.hpp"

namespace warpsmith::codec {

static_assert(std::endian::native == std::endian::little, "the codec writes native bytes");

/// Appends to a buffer that it does not own.
class Writer : public cereal::OutputArchive<Writer, cereal::AllowEmptyClassElision> {
 public:
  explicit Writer(ByteBuffer& out) : OutputArchive(this), out_(out) {}
  void write(const void* data, size_t size) {
    const auto* first = static_cast<const char*>(data);
    out_.insert(out_.end(), first, first + size);
  }

 private:
  ByteBuffer& out_;
};

/// Reads from bytes that it does not own; throws std::runtime_error when they end too early.
class Reader : public cereal::InputArchive<Reader, cereal::AllowEmptyClassElision> {
 public:
  Reader(const char* data, size_t size) : InputArchive(this), data_(data), left_(size) {}
  void read(void* into, size_t size) {
    if (size > left_) throw std::runtime_error("bytes end too early");
    std::memcpy(into, data_, size);
    data_ += size;
    left_ -= size;
  }
  /// Throws unless `length` elements of at least `size` bytes each fit into the remaining bytes.
  void check_length(uint64_t length, size_t size = 1) const {
    if (length > left_ / size) throw std::runtime_error("length exceeds the bytes that are left");
  }
  size_t left() const { return left_; }

 private:
  const char* data_;
  size_t left_;
};

template <class T>
  requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& w, const T& value) {
  w.write(&value, sizeof value);
}
template <class T>
  requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& r, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    uint8_t byte = 0;
    r.read(&byte, 1);
    value = byte != 0;
  } else {
    r.read(&value, sizeof value);
  }
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& w, const cereal::BinaryData<T>& data) {
  w.write(data.data, static_cast<size_t>(data.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& r, cereal::BinaryData<T>& data) {
  r.read(data.data, static_cast<size_t>(data.size));
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& w, const cereal::SizeTag<T>& tag) {
  w(static_cast<uint64_t>(tag.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& r, cereal::SizeTag<T>& tag) {
  uint64_t length = 0;
  r(length);
  r.check_length(length);
  tag.size = static_cast<cereal::size_type>(length);
}
/// Replaces cereal's version, which allocates all elements before it reads the first, although one
/// byte of input may encode a large element. This one makes each element as it reads it.
template <class T>
  requires(!std::is_same_v<T, bool>)
void CEREAL_LOAD_FUNCTION_NAME(Reader& r, std::vector<T>& values) {
  uint64_t length = 0;
  r(length);
  values.clear();
  if constexpr (std::is_arithmetic_v<T>) {
    r.check_length(length, sizeof(T));
    values.resize(static_cast<size_t>(length));
    if (length > 0) r.read(values.data(), values.size() * sizeof(T));
  } else {
    r.check_length(length);
    for (uint64_t i = 0; i < length; ++i) r(values.emplace_back());
  }
}
template <class Archive, class T>
  requires(std::is_same_v<Archive, Writer> || std::is_same_v<Archive, Reader>)
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}
/// A record's fields in the order of its list.
template <class Archive, Described T>
  requires(std::is_same_v<Archive, Writer> || std::is_same_v<Archive, Reader>)
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, T& record) {
  T::describe([&](std::string_view, auto& field) { archive(field); }, record);
}

/// A record that checks its own values: `Result<void> validate() const`.
template <class T>
concept Validated = requires(const T& record) {
  { record.validate() } -> std::same_as<Result<void>>;
};

template <class T>
ByteBuffer pack(const T& record) {
  ByteBuffer out;
  Writer writer{out};
  writer(record);
  return out;
}

/// Returns the record; `parse_failed` if bytes are missing or left over, or a value is invalid.
template <class T>
Result<T> unpack(const char* data, size_t size) {
  T record{};
  try {
    Reader reader{data, size};
    reader(record);
    if (reader.left() != 0) {
      return fail(ErrorCode::parse_failed, fmt::format("{} bytes after the record", reader.left()));
    }
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, e.what());
  }
  if constexpr (Validated<T>) {
    TRY_VOID(record.validate());
  }
  return record;
}

template <class T>
Result<T> unpack(const ByteBuffer& bytes) {
  return unpack<T>(bytes.data(), bytes.size());
}

}  // namespace warpsmith::codec

CEREAL_REGISTER_ARCHIVE(warpsmith::codec::Writer)
CEREAL_REGISTER_ARCHIVE(warpsmith::codec::Reader)
CEREAL_SETUP_ARCHIVE_TRAITS(warpsmith::codec::Reader, warpsmith::codec::Writer)
