// SPDX-License-Identifier: Apache-2.0
#include "policy/format/safetensors.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "policy/format/safetensors_header.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {
namespace {

/// A file mapped into memory; pages are read when they are used.
/// A private mapping: writing to it changes memory, not the file. The last owner unmaps it.
class MappedFile {
 public:
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {data_, size_}; }

 private:
  MappedFile(char* data, size_t size) : data_(data), size_(size) {}

  char* data_;
  size_t size_;
};

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  TRY(const auto file, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_with_errno("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return fail(ErrorCode::parse_failed, path.string() + ": empty, or not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return fail_with_errno("cannot map", path, errno);
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr size_t prefix_bytes = 8;  // the header's length, before the header

at::ScalarType scalar_type(StoredType type) {
  switch (type) {
    case StoredType::f64:
      return at::kDouble;
    case StoredType::f32:
      return at::kFloat;
    case StoredType::f16:
      return at::kHalf;
    case StoredType::bf16:
      return at::kBFloat16;
    case StoredType::other:
      return at::kByte;
  }
  return at::kByte;
}

std::optional<StoredType> stored_type(at::ScalarType type) {
  for (const StoredType known :
       {StoredType::f64, StoredType::f32, StoredType::f16, StoredType::bf16}) {
    if (scalar_type(known) == type) return known;
  }
  return std::nullopt;
}

Result<uint64_t> header_length(const MappedFile& file) {
  uint64_t length = 0;
  if (file.size() < prefix_bytes) {
    return fail(ErrorCode::parse_failed,
                fmt::format("safetensors: {} bytes, expected at least 8: truncated?", file.size()));
  }
  std::memcpy(&length, file.data(), prefix_bytes);
  if (length > max_safetensors_header || length > file.size() - prefix_bytes) {
    return fail(
        ErrorCode::parse_failed,
        fmt::format("safetensors: header claims {} bytes, the file has {}", length, file.size()));
  }
  return length;
}

/// A view of the mapping, or a copy if the tensor is not aligned in the file. Type `other` is
/// returned as bytes.
at::Tensor tensor_of(const std::shared_ptr<MappedFile>& file, const StoredTensor& entry,
                     uint64_t data_start) {
  char* const data = file->data() + data_start + entry.begin;
  const bool other = entry.type == StoredType::other;
  const auto bytes = static_cast<int64_t>(entry.end - entry.begin);
  const std::vector<int64_t> shape = other ? std::vector<int64_t>{bytes} : entry.shape;
  const at::TensorOptions options(scalar_type(entry.type));
  const auto alignment = static_cast<uintptr_t>(other ? 1 : byte_size(entry.type));
  if (reinterpret_cast<uintptr_t>(data) % alignment == 0) {
    return at::from_blob(data, shape, [file](void*) {}, options);
  }
  at::Tensor copy = at::empty(shape, options);
  if (bytes > 0) std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(bytes));
  return copy;
}

/// A file being written; the destructor removes it unless `finish` succeeded.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
  ~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
    std::error_code ignored;  // a device, such as /dev/full, is not removed
    const bool ours = std::filesystem::is_regular_file(path_, ignored);
    if (!finished_ && fd_ >= 0 && ours) ::unlink(path_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool write(const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0 && fd_ >= 0) {
      const ssize_t done = ::write(fd_, at, size);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return false;
      at += done;
      size -= static_cast<size_t>(done);
    }
    return fd_ >= 0;
  }
  void finish() { finished_ = true; }

 private:
  std::filesystem::path path_;
  int fd_;
  bool finished_ = false;
};

/// The tensors in the file's order: widest types first, which aligns all of them without gaps.
struct Layout {
  StoredTensors entries;
  std::vector<const at::Tensor*> order;
};

Result<Layout> layout_of(const WeightMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (stored_type(tensor.scalar_type())) continue;
    return fail(ErrorCode::unsupported,
                "safetensors: tensor \"" + name + "\": only F64, F32, F16 and BF16 can be written");
  }
  Layout layout;
  uint64_t offset = 0;
  for (const int64_t width : {8, 4, 2}) {
    for (const auto& [name, tensor] : tensors) {
      const StoredType type = *stored_type(tensor.scalar_type());
      if (byte_size(type) != width) continue;
      const uint64_t end = offset + static_cast<uint64_t>(tensor.numel() * width);
      layout.entries[name] = {type, tensor.sizes().vec(), offset, end};
      layout.order.push_back(&tensor);
      offset = end;
    }
  }
  return layout;
}

}  // namespace

Result<WeightMap> read_safetensors(const std::filesystem::path& path) {
  TRY(const auto file, MappedFile::open(path));
  const auto length = header_length(*file);
  if (!length) return fail(path.string(), length.error());
  const uint64_t data_start = prefix_bytes + *length;
  const auto entries = parse_safetensors_header(file->text().substr(prefix_bytes, *length),
                                                file->size() - data_start);
  if (!entries) return fail(path.string(), entries.error());
  WeightMap tensors;
  for (const auto& [name, entry] : *entries) {
    tensors[name] = tensor_of(file, entry, data_start);
  }
  return tensors;
}

Result<void> write_safetensors(const std::filesystem::path& path, const WeightMap& tensors,
                               const std::map<std::string, std::string>& metadata) {
  TRY(const auto layout, layout_of(tensors));
  const std::string header = safetensors_header(layout.entries, metadata);
  const uint64_t length = header.size();
  OutputFile out(path);
  bool ok = out.write(&length, sizeof length) && out.write(header.data(), header.size());
  for (const at::Tensor* tensor : layout.order) {
    const at::Tensor flat = tensor->detach().cpu().contiguous();
    ok = ok && out.write(flat.const_data_ptr(), static_cast<size_t>(flat.nbytes()));
  }
  if (!ok) return fail_with_errno("cannot write", path, errno);
  out.finish();
  return {};
}

}  // namespace warpsmith::policy
