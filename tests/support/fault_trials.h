#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "support/faulty_files.h"
#include "support/memory_files.h"
#include "support/write_bytes.h"

namespace plimsoll {

/// Publishes one thing repeatedly on a file system in memory, and makes each of its calls fail in every way.
/// Whatever happens, either the old or the new content is whole at `out`.
class FaultTrials {
 public:
  using Step = std::function<void(FileSystem&)>;
  using Tree = std::map<std::string, std::string>;

  /// `before` creates the content that is to be replaced, if any. `publish` writes to `out`, below /place.
  FaultTrials(std::filesystem::path out, const Step& before, Step publish)
      : out_(std::move(out)), publish_(std::move(publish)) {
    make_folders("/place", before_);
    before(before_);
    old_ = before_.tree(out_);
    MemoryFiles files = before_;
    FaultyFiles counting(files);
    publish_(counting);
    calls_ = counting.calls();
    new_ = files.tree(out_);
    EXPECT_NE(old_, new_) << "a trial needs something that changes";
    EXPECT_EQ(extra_names(files), 0U);
  }

  /// Copies what was published to the disk, for a reader that needs it there.
  void export_to(const std::filesystem::path& folder) const {
    for (const auto& [name, bytes] : new_) {
      const std::filesystem::path path = folder.string() + name;
      if (name.ends_with('/'))
        std::filesystem::create_directories(path);
      else
        write_bytes(path, bytes);
    }
  }

  void run() const {
    expect_errors({Fault::error, 0, EIO});
    expect_errors({Fault::error, 0, ENOSPC});
    expect_errors({Fault::full, 0, ENOSPC});
    expect_short_writes_are_continued();
    expect_a_kill_leaves_one_of_the_two();
    expect_a_power_failure_leaves_one_of_the_two();
    expect_what_is_published_lasts();
  }

 private:
  static constexpr uint32_t kPowerFailures = 20;

  // Counts unexpected names next to the output.
  size_t extra_names(MemoryFiles& files) const {
    const Tree all = files.tree("/place");
    const Tree here = files.tree(out_);
    size_t around = 1;  // Number of expected names: /place itself, and folders made for the output.
    if (!here.empty())
      for (auto at = out_.parent_path(); at != "/place"; at = at.parent_path()) ++around;
    return all.size() - here.size() - around;
  }
  // The result of publishing with a fault: whether the fault struck, and the text of the error.
  struct Outcome {
    std::string struck;
    std::string error;
  };
  Outcome attempt(MemoryFiles& files, Fault fault) const {
    FaultyFiles faulty(files, fault);
    Outcome outcome;
    try {
      publish_(faulty);
    } catch (const Failure& error) {
      outcome.error = error.what();
    }
    outcome.struck = faulty.struck();
    return outcome;
  }
  void expect_published_after(MemoryFiles& files) const {
    publish_(files);
    EXPECT_EQ(files.tree(out_), new_) << "a repetition is hindered by what is left";
  }

  void expect_errors(Fault fault) const {
    for (fault.at = 0; fault.at < calls_; ++fault.at) {
      SCOPED_TRACE("call " + std::to_string(fault.at) + " fails: " + std::strerror(fault.reason));
      MemoryFiles files = before_;
      const Outcome outcome = attempt(files, fault);
      if (outcome.struck.empty()) {  // A full disk does no harm when nothing more is written.
        EXPECT_EQ(fault.kind, Fault::full);
        EXPECT_EQ(files.tree(out_), new_);
        continue;
      }
      EXPECT_THAT(outcome.error, testing::HasSubstr("/place"));
      EXPECT_THAT(outcome.error, testing::HasSubstr(std::strerror(fault.reason)));
      // When the new content is in place, the last call makes a file's new name durable, or deletes the old
      // folder.
      const bool deleting = outcome.struck == "remove_tree";
      const bool done = fault.at == calls_ - 1 && files.tree(out_) == new_;
      EXPECT_EQ(files.tree(out_), done ? new_ : old_) << outcome.struck;
      EXPECT_EQ(outcome.error.find("make room") != std::string::npos, fault.reason == ENOSPC && !deleting);
      EXPECT_EQ(extra_names(files), done && deleting ? old_.size() : 0) << outcome.struck;
      expect_published_after(files);
    }
  }
  void expect_short_writes_are_continued() const {
    for (int at = 0; at < calls_; ++at) {
      MemoryFiles files = before_;
      const Outcome outcome = attempt(files, {Fault::short_write, at});
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(files.tree(out_), new_) << "call " << at;
    }
  }
  void expect_a_kill_leaves_one_of_the_two() const {
    for (int at = 0; at < calls_; ++at) {
      SCOPED_TRACE("killed at call " + std::to_string(at));
      MemoryFiles files = before_;
      attempt(files, {Fault::kill, at});
      expect_one_of_the_two(files);
      expect_published_after(files);
    }
  }
  void expect_a_power_failure_leaves_one_of_the_two() const {
    for (int at = 0; at < calls_; ++at) {
      MemoryFiles killed = before_;
      attempt(killed, {Fault::kill, at});
      for (uint32_t seed = 0; seed < kPowerFailures; ++seed) {
        SCOPED_TRACE("power failed at call " + std::to_string(at) + ", seed " + std::to_string(seed));
        MemoryFiles files = killed;
        files.lose_power(seed);
        expect_one_of_the_two(files);
      }
    }
  }
  void expect_what_is_published_lasts() const {
    MemoryFiles published = before_;
    publish_(published);
    for (uint32_t seed = 0; seed < kPowerFailures; ++seed) {
      MemoryFiles files = published;
      files.lose_power(seed);
      EXPECT_EQ(files.tree(out_), new_) << "power failed after it all, seed " << seed;
    }
  }
  void expect_one_of_the_two(MemoryFiles& files) const {
    const Tree found = files.tree(out_);
    EXPECT_TRUE(found == old_ || found == new_) << "a mixture, or a part";
  }

  std::filesystem::path out_;
  MemoryFiles before_;
  Step publish_;
  Tree old_, new_;
  int calls_ = 0;
};

}  // namespace plimsoll
