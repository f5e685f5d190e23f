#include "memory/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace plimsoll {
namespace {

class MemoryGroups : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const MemoryGroup& group : memory_groups(root_.path().string())) names.push_back(group.name());
    return names;
  }
  TempFolder root_;
};

using Names = std::vector<std::string>;

TEST_F(MemoryGroups, AreThoseOfTheProcessWithAllParents) {
  write("proc/self/cgroup", "11:cpu,cpuacct:/other\n4:hugetlb,memory:/a/b\n0::/\n");
  EXPECT_EQ(names(), (Names{"cgroup v1 /a/b", "cgroup v1 /a", "cgroup v1 /", "cgroup v2 /"}));
}

TEST_F(MemoryGroups, OutsideOfWhatANamespaceShowsThereIsTheMountAlone) {
  write("proc/self/cgroup", "0::/../../b\n");
  EXPECT_EQ(names(), Names{"cgroup v2 /"});
}

TEST_F(MemoryGroups, TheSecondVersionMayHaveAMountBesideTheFirst) {
  write("proc/self/cgroup", "0::/a\n");
  EXPECT_EQ(memory_groups(root_.path().string())[0].folder, root_.path().string() + "/sys/fs/cgroup/a");
  std::filesystem::create_directories(root_ / "sys/fs/cgroup/unified");
  EXPECT_EQ(memory_groups(root_.path().string())[0].folder,
            root_.path().string() + "/sys/fs/cgroup/unified/a");
}

TEST_F(MemoryGroups, NumbersThatAreNoneAreNone) {
  const MemoryGroup group{false, "/a", root_.path().string()};
  EXPECT_FALSE(group.number("n"));
  for (const char* text : {"", "\n", "-5\n", "max\n", "99999999999999999999\n"}) {
    write("n", text);
    EXPECT_FALSE(group.number("n")) << text;
    write("f", std::string("key ") + text);
    EXPECT_FALSE(group.field("f", "key")) << text;
  }
  write("f", "other 5\nkey 7\n");
  EXPECT_EQ(group.field("f", "key"), 7);
  EXPECT_FALSE(group.field("f", "ke"));
  EXPECT_FALSE(group.limit());
  EXPECT_EQ(group.anonymous(), 0);
}

}  // namespace
}  // namespace plimsoll
