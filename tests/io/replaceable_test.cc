#include "io/replaceable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class ReplaceableTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text = "text") const {
    fs::create_directories((out_ / name).parent_path());
    write_bytes(out_ / name, text);
  }
  std::string refusal(const WillHold& will_hold = {}) const {
    return error_text<Failure>([&] { require_replaceable(out_, will_hold); });
  }
  void expect_replaceable(const WillHold& will_hold = {}) const {
    EXPECT_NO_THROW(require_replaceable(out_, will_hold));
  }

  const TempFolder folder_;
  const fs::path out_ = folder_ / "out";
};

TEST_F(ReplaceableTest, NothingAndWhatIsEmpty) {
  expect_replaceable();
  fs::create_directories(out_);
  expect_replaceable();
  fs::remove(out_);
  fs::create_symlink("nowhere", out_);
  expect_replaceable();
}

TEST_F(ReplaceableTest, ADataSetAloneAndADamagedOne) {
  write("manifest.json", R"({"kind": "frames", "columns": {"data": {"file": "data.npy"}}})");
  write("data.npy");
  write(".DS_Store");
  expect_replaceable();
  write("labels.npy");
  EXPECT_THAT(refusal(), HasSubstr("holds labels.npy, which is not part"));
  fs::remove(out_ / "labels.npy");
  write("predictions.csv");
  EXPECT_THAT(refusal(), HasSubstr("holds predictions.csv,"));
  write("manifest.json", R"({"kind": "predictions", "columns": {"data": {"file": "data.npy"}}})");
  expect_replaceable();
  fs::remove(out_ / "predictions.csv");
  write("manifest.json", "{\n \"kind\": \"graph_set\",\n \"col");
  expect_replaceable();
  write("notes.md");
  EXPECT_THAT(refusal(), HasSubstr("holds notes.md, which is not part of such an output; delete it"));
  fs::remove(out_ / "notes.md");
  write("more/data.npy");
  EXPECT_THAT(refusal(), HasSubstr("holds more,"));
}

TEST_F(ReplaceableTest, NoRunAndNoFolderOfOthers) {
  write("manifest.json", R"({"kind": "run"})");
  EXPECT_THAT(refusal(), HasSubstr("holds a run; name another output"));
  EXPECT_THAT(error_text<Failure>([&] {
                require_replaceable(out_, [](const fs::path& file) { return file == "manifest.json"; });
              }),
              HasSubstr("holds a run"));
  for (const char* other : {R"({"name": "frames"})", R"({"kind": "Pod", "apiVersion": "v1"})",
                            R"({"kind": 1})", "", "{\"kind\""}) {
    write("manifest.json", other);
    EXPECT_THAT(refusal(), HasSubstr("holds manifest.json")) << other;
  }
  fs::remove_all(out_);
  write("run.lock");
  EXPECT_THAT(refusal(), HasSubstr("holds run.lock"));
  fs::remove_all(out_);
  write_bytes(out_, "a file");
  EXPECT_THAT(refusal(), HasSubstr("is a file, but the output is a folder"));
}

TEST_F(ReplaceableTest, FilesThatTheOutputHasToo) {
  const WillHold captures = [](const fs::path& file) {
    return file == "train/a.csv" || file == "train/b.csv";
  };
  write("train/a.csv");
  expect_replaceable(captures);
  EXPECT_THAT(refusal(), HasSubstr("holds train,"));
  write("train/thesis.txt");
  EXPECT_THAT(refusal(captures), HasSubstr("holds train/thesis.txt,"));
}

TEST_F(ReplaceableTest, NoSourceOfTheOutput) {
  write("manifest.json", R"({"kind": "frames"})");
  const auto refusal_of = [&](const fs::path& source, bool force) {
    return error_text<Failure>([&] { require_free(out_, force, {source}); });
  };
  fs::create_directory_symlink(folder_.path(), folder_ / "link");
  for (const bool force : {false, true})
    for (const fs::path& source : {out_, out_ / "manifest.json", out_ / ".", folder_ / "link/out"})
      EXPECT_THAT(refusal_of(source, force), HasSubstr("is an input, and would be replaced")) << source;
  EXPECT_THAT(refusal_of(folder_.path(), false), HasSubstr("give --force to replace it"));
  EXPECT_NO_THROW(require_free(out_, true, {folder_.path(), folder_ / "output"}));
  EXPECT_NO_THROW(require_free(folder_ / "free", false, {out_}));
}

TEST_F(ReplaceableTest, NoFileThatIsRead) {
  write("recipe.yaml");
  const auto try_to = [&](const fs::path& file) {
    return error_text<Failure>([&] { require_no_source(file, {out_, {}}); });
  };
  EXPECT_THAT(try_to(out_ / "recipe.yaml"), HasSubstr("is an input, and would be overwritten"));
  EXPECT_NO_THROW(require_no_source(out_ / "new.csv", {out_}));
  EXPECT_NO_THROW(require_no_source(folder_.path() / "out" / "recipe.yaml", {folder_ / "other", {}}));
  EXPECT_NO_THROW(require_no_source({}, {out_}));
}

}  // namespace
}  // namespace plimsoll
