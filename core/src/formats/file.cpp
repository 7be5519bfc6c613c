// See file.hpp.
#include "formats/file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "formats/text.hpp"
#include "runtime/error.hpp"

namespace hexapla {
namespace {

template <class... Parts>
[[noreturn]] void refuse(int error, const Parts&... parts) {
  fail(HXP_IO, parts..., ": ", std::generic_category().message(error));
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return value_; }
  int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

/// Keeps SIGXFSZ from this thread; one that came meanwhile is taken off, one that waited before is left.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    waited_before_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignalHeld() {
    const timespec at_once{0, 0};
    if (!waited_before_) {
      while (sigtimedwait(&signal_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
  bool waited_before_;
};

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Some file systems cannot sync a folder and say EINVAL; there is nothing more to do then.
void sync(const std::string& path, int flags) {
  const Descriptor descriptor(path, flags);
  if (descriptor.get() < 0) refuse(errno, "cannot open ", path, " to sync it");
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) refuse(errno, "cannot sync ", path);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Rename to a place that must be free: plain rename would replace an empty folder.
void rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  int error = errno;
  if (error == EINVAL || error == ENOSYS) {  // a file system without it: look first, then rename
    struct stat status;
    error = ::lstat(to.c_str(), &status) == 0 ? EEXIST : ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0) refuse(error, "cannot rename ", from, " to ", to);
}

}  // namespace

File::File(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  Descriptor descriptor(path_, O_RDONLY | O_NONBLOCK);
  if (descriptor.get() < 0) refuse(errno, "cannot open ", path_);
  struct stat status;
  if (::fstat(descriptor.get(), &status) != 0) refuse(errno, "cannot look at ", path_);
  if (!S_ISREG(status.st_mode)) fail(HXP_IO, path_, " is not a regular file");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  descriptor_ = descriptor.release();
}

File::~File() { ::close(descriptor_); }

void File::read(std::uint64_t offset, void* out, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(errno, "cannot read ", path_, " at byte ", offset + done);
    if (got == 0) fail(HXP_IO, path_, " ends at byte ", offset + done, " and had ", bytes_, " bytes when it was opened");
    done += static_cast<std::size_t>(got);
  }
}

std::string File::read_all(std::uint64_t most) const {
  if (bytes_ > most) fail(HXP_FORMAT, path_, " has ", bytes_, " bytes, more than the ", most, " that are read");
  std::string text(static_cast<std::size_t>(bytes_), '\0');
  read(0, text.data(), text.size());
  return text;
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> count{0};
  const PathKind kind = path_kind(path_);
  if (kind != PathKind::none && kind != PathKind::file) fail(HXP_IO, path_, " exists and is not a regular file");
  partial_ = join(path_, ".partial-", ::getpid(), "-", count.fetch_add(1));
  Descriptor descriptor(partial_, O_WRONLY | O_CREAT | O_EXCL);
  if (descriptor.get() < 0) refuse(errno, "cannot create ", partial_);
  descriptor_ = descriptor.release();
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

void NewFile::write(const void* data, std::size_t bytes) {
  const FileSizeSignalHeld held;
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t put = ::write(descriptor_, static_cast<const char*>(data) + done, bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse(errno, "cannot write ", partial_);
    done += static_cast<std::size_t>(put);
  }
}

void NewFile::commit() {
  if (::fsync(descriptor_) != 0) refuse(errno, "cannot sync ", partial_);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) refuse(errno, "cannot rename ", partial_, " to ", path_);
  ::close(std::exchange(descriptor_, -1));
  sync(parent_of(path_), O_RDONLY | O_DIRECTORY);
}

PathKind path_kind(const std::string& path) noexcept {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return PathKind::none;
  return S_ISREG(status.st_mode) ? PathKind::file : S_ISDIR(status.st_mode) ? PathKind::folder : PathKind::other;
}

void commit_folder(const std::string& partial, const std::string& final_path) {
  namespace fs = std::filesystem;
  const std::string from = without_slash(partial), to = without_slash(final_path);
  if (path_kind(from) != PathKind::folder) fail(HXP_IO, from, " is not a folder");
  std::error_code error;
  if (!fs::equivalent(parent_of(from), parent_of(to), error)) fail(HXP_IO, from, " and ", to, " are not in one folder");
  for (fs::recursive_directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const fs::file_type type = at->symlink_status(error).type();
    if (type == fs::file_type::regular) sync(at->path().string(), O_RDONLY);
    if (type == fs::file_type::directory) sync(at->path().string(), O_RDONLY | O_DIRECTORY);
  }
  if (error) fail(HXP_IO, "cannot list ", from, ": ", error.message());
  sync(from, O_RDONLY | O_DIRECTORY);
  rename_to_new(from, to);
  sync(parent_of(to), O_RDONLY | O_DIRECTORY);
}

}  // namespace hexapla
