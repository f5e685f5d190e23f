#pragma once

#include <cerrno>
#include <mutex>
#include <string>

#include "io/file_system.h"

namespace plimsoll {

/// What fails, at which call.
struct Fault {
  enum Kind {
    none,
    error,        ///< The call does nothing and fails.
    short_write,  ///< The call, if it writes, writes half of the bytes.
    /// The disk is full from that call on: the first write is short, and all later writes and calls that make
    /// files or folders fail.
    full,
    kill,  ///< The call and all later ones do nothing: the process is gone.
  };
  Kind kind = none;
  int at = 0;           ///< Number of calls before the one that fails.
  int reason = ENOSPC;  ///< errno of an error.
};

/// Passes calls on to another file system, except those that are to fail. exists(), names_in(), lock(), whose
/// errors end nothing, and close() never fail and are not counted. Threads may share it; calls() and struck()
/// may be called when they are done.
class FaultyFiles : public FileSystem {
 public:
  using Path = std::filesystem::path;
  explicit FaultyFiles(FileSystem& under, Fault fault = {}) : under_(under), fault_(fault) {}

  int calls() const { return calls_; }
  /// The call that failed; empty if none did.
  const std::string& struck() const { return struck_; }

  int open(const Path& path, Open how) override {
    return fails("open", how != Open::read) ? -1 : under_.open(path, how);
  }
  int64_t read(int file, void* data, size_t bytes) override {
    return fails("read") ? -1 : under_.read(file, data, bytes);
  }
  int64_t write(int file, int64_t offset, const void* data, size_t bytes) override {
    if (bytes >= 2 && is_cut()) return under_.write(file, offset, data, bytes / 2);
    return fails("write", true) ? -1 : under_.write(file, offset, data, bytes);
  }
  int sync(int file) override { return fails("sync") ? -1 : under_.sync(file); }
  void close(int file) override { under_.close(file); }
  int lock(int file, const Path& path) override { return under_.lock(file, path); }

  bool exists(const Path& path) override { return under_.exists(path); }
  std::optional<std::vector<std::string>> names_in(const Path& path) override {
    return under_.names_in(path);
  }
  int make_folder(const Path& path) override {
    return fails("make_folder", true) ? -1 : under_.make_folder(path);
  }
  int rename(const Path& from, const Path& to, Rename how) override {
    return fails("rename") ? -1 : under_.rename(from, to, how);
  }
  int remove_file(const Path& path) override { return fails("remove_file") ? -1 : under_.remove_file(path); }
  int remove_folder(const Path& path) override {
    return fails("remove_folder") ? -1 : under_.remove_folder(path);
  }
  int remove_tree(const Path& path) override { return fails("remove_tree") ? -1 : under_.remove_tree(path); }
  int sync_folder(const Path& path) override { return fails("sync_folder") ? -1 : under_.sync_folder(path); }

 private:
  // Whether a write is cut. A write that is not cut is counted by fails().
  bool is_cut() {
    const std::lock_guard lock(mutex_);
    const bool cut = (fault_.kind == Fault::short_write && calls_ == fault_.at) ||
                     (fault_.kind == Fault::full && calls_ >= fault_.at && struck_.empty());
    if (!cut) return false;
    ++calls_;
    struck_ = "write";
    return true;
  }
  bool fails(const char* call, bool needs_room = false) {
    const std::lock_guard lock(mutex_);
    const int number = calls_++;
    const bool struck = (fault_.kind == Fault::error && number == fault_.at) ||
                        (fault_.kind == Fault::full && number >= fault_.at && needs_room) ||
                        (fault_.kind == Fault::kill && number >= fault_.at);
    if (!struck) return false;
    if (struck_.empty()) struck_ = call;
    errno = fault_.kind == Fault::full ? ENOSPC : fault_.kind == Fault::kill ? EIO : fault_.reason;
    return true;
  }

  FileSystem& under_;
  const Fault fault_;
  std::mutex mutex_;
  int calls_ = 0;  // Guarded by mutex_, as the next member.
  std::string struck_;
};

}  // namespace plimsoll
