// Files as the formats need them: read exactly, or written beside their place and put there whole. Separate because it is the one place
// that makes system calls on files. Every refusal is HXP_IO with the operating system's own text.
//
// Nothing here maps a file: one that is cut short while it is read then answers HXP_IO, where a mapping would kill the process (SIGBUS).
// Past RLIMIT_FSIZE the system sends SIGXFSZ, which kills by default; NewFile holds it back on the calling thread while it writes, so that
// the write fails as on a full disk and the process's own handling of the signal stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hexapla {

/// A regular file, open for reading. Any number of threads may read at once.
class File {
 public:
  explicit File(std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// As it was when the file was opened.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Exactly so many bytes; a file that has become shorter is HXP_IO.
  void read(std::uint64_t offset, void* out, std::size_t bytes) const;
  /// The whole file; HXP_FORMAT if it is longer than `most`.
  std::string read_all(std::uint64_t most) const;

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t bytes_;
};

/// A file in the making: `<path>.partial-<pid>-<n>` until commit, gone if there is none.
class NewFile {
 public:
  /// A path that names something other than a regular file is refused.
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Sync, rename to its place, sync the folder.
  void commit();

 private:
  std::string path_;
  std::string partial_;
  int descriptor_ = -1;
};

enum class PathKind { none, file, folder, other };

PathKind path_kind(const std::string& path) noexcept;

/// Make a folder of finished files final: sync all in it, rename it, sync the parent. Both in one parent; final_path must not exist.
void commit_folder(const std::string& partial, const std::string& final_path);

}  // namespace hexapla
