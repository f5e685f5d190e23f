#include "fuzz/tu.h"
#include "support/zip.h"

// The files of a data set, each after a line %KIND: a folder of them and an archive of them are read to the same
// graphs, or both refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(32 << 20);
  std::filesystem::remove_all(Scratch::folder() / "S");
  std::filesystem::create_directory(Scratch::folder() / "S");
  std::vector<ZipMember> members;
  for (std::string_view rest = text_of(data, size); !rest.empty();) {
    const std::string kind(take_line(rest));
    const size_t end = std::min(rest.find("\n%"), rest.size() - 1);
    const std::string text(rest.substr(0, std::min(end + 1, rest.size())));
    rest.remove_prefix(text.size());
    if (kind.size() < 2 || kind.size() > 20 || kind.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      continue;
    const std::string name = "S/S_" + kind.substr(1) + ".txt";
    Scratch::write(name, text);
    std::erase_if(members, [&](const ZipMember& member) { return member.name == name; });
    members.push_back({name, text});
  }
  const auto archive = Scratch::write("S.zip", zip_of(members));
  const bool small = is_small(Scratch::folder() / "S");
  expect(small == is_small(archive), "an archive is refused as its folder is");
  if (!small) return 0;
  for (const char* target : {"graph", "node"}) {
    const auto folder = ingest(Scratch::folder() / "S", "folder", "auto", target);
    const auto packed = ingest(archive, "packed", "auto", target);
    expect(folder.has_value() == packed.has_value(), "an archive is refused as its folder is");
    if (!folder) continue;
    expect(columns_of(*folder) == columns_of(*packed), "an archive has the graphs of its folder");
    expect_coalesced(GraphSetView(*folder).graphs());
  }
  return 0;
}
