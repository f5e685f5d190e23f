#include "ingest/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/philox.h"
#include "io/file.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// tests/python/test_graph_ingest.py compares results with NumPy. These tests need internals: faults and
// memory.
class GraphIngest : public testing::Test {
 protected:
  GraphIngestOptions options(const std::string& text) const {
    write_bytes(folder_ / "edges.txt", text);
    GraphIngestOptions result;
    result.edges.files = {folder_ / "edges.txt"};
    result.out = out_;
    result.force = true;
    return result;
  }
  static GraphIngestResult run(const GraphIngestOptions& options, FileSystem& files = FileSystem::disk()) {
    return ingest_graph(
        options, [](const char*, int64_t, int64_t) {}, files);
  }
  // Contents of all output files by name.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> all;
    for (const auto& file : std::filesystem::directory_iterator(out_))
      all[file.path().filename()] = read_text(file.path());
    return all;
  }
  // Edges of 2,000 nodes with IDs of one kind.
  static std::string made_up(const std::string& kind, uint32_t edges = 20'000) {
    std::string text;
    for (uint32_t e = 0; e < edges; ++e) {
      const auto draw = Philox(3)({e, 0, 0, 0});
      for (const uint32_t end : {draw[0] % 2000, draw[1] % (1 + draw[2] % 2000)}) {
        if (kind == "text") text += "node/";
        text += std::to_string(kind == "sparse" ? end * 1'000'003 * uint64_t{77} : end) + " ";
      }
      text += std::to_string(e % 100) + "\n";
    }
    return text;
  }
  TempFolder folder_;
  std::filesystem::path out_ = folder_ / "out";
};

TEST_F(GraphIngest, RowsHoldWhatTheDirectionSays) {
  GraphIngestOptions in = options("1 0\n3 0\n0 1\n1 3\n");
  EXPECT_EQ(run(in).ids, "dense");
  {
    const GraphView graph(out_);
    EXPECT_THAT(graph.indptr(), ElementsAre(0, 2, 3, 3, 4));
    EXPECT_THAT(graph.indices(), ElementsAre(1, 3, 0, 1));
    EXPECT_TRUE(graph.node_id().empty());
  }
  in.direction = "out";
  in.self_loops = "add";
  run(in);
  const GraphView graph(out_);
  EXPECT_THAT(graph.indptr(), ElementsAre(0, 2, 5, 6, 8));
  EXPECT_THAT(graph.indices(), ElementsAre(0, 1, 0, 1, 3, 2, 0, 3));
}

TEST_F(GraphIngest, IdsThatCountNoNodesAreFoundOut) {
  EXPECT_EQ(run(options("5000000000 7\n7 8\n")).ids, "sparse");
  EXPECT_THAT(GraphView(out_).node_id(), ElementsAre(7, 8, 5'000'000'000));
  EXPECT_EQ(run(options("90000000 7\n7 8\n")).ids, "sparse");
  EXPECT_EQ(run(options("9 7\n7 8\n")).ids, "dense");
  EXPECT_EQ(GraphView(out_).nodes(), 10);
  EXPECT_EQ(run(options("b a\nc b\n")).ids, "text");
  const GraphView graph(out_);
  EXPECT_EQ(graph.name(2), "c");
  EXPECT_THAT(graph.indices(), ElementsAre(1, 2));
}

TEST_F(GraphIngest, MemoryAndThreadsChangeNoByteAndAreNotExceeded) {
  for (const char* kind : {"dense", "sparse", "text"}) {
    GraphIngestOptions made = options(made_up(kind));
    made.edges.weight = "2";
    made.undirected = true;
    made.order = "degree";
    std::map<std::string, std::string> first;
    for (const int64_t memory : {int64_t{512} << 20, int64_t{24} << 20, int64_t{14} << 20}) {
      const LedgerCap cap(memory);
      made.threads = memory > int64_t{16} << 20 ? 3 : 1;
      const int64_t held = Ledger::process().held();
      run(made);
      EXPECT_EQ(Ledger::process().held(), held);
      if (first.empty()) first = content();
      EXPECT_EQ(content(), first) << kind << " in " << memory;
    }
    EXPECT_THAT(verify_data_set(out_), IsEmpty());
  }
}

TEST_F(GraphIngest, TooLittleMemoryIsRefusedAndLeavesNothing) {
  const GraphIngestOptions made = options(made_up("text"));
  const LedgerCap cap(1 << 20);
  EXPECT_THAT(error_text<BudgetExceeded>([&] { run(made); }), HasSubstr("raise the budget"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(GraphIngest, IsTheOldOneOrTheNewWhateverFails) {
  // There are enough edges for several runs of each sort in the minimum memory.
  GraphIngestOptions made = options(made_up("sparse", 5'000));
  made.ids = "sparse";
  made.undirected = true;
  made.out = "/place/graph";
  made.order = "degree";
  const auto ingest = [&](const char* direction) {
    return [&made, direction](FileSystem& files) {
      const LedgerCap cap(7 << 20);
      GraphIngestOptions turned = made;
      turned.direction = direction;
      run(turned, files);
    };
  };
  FaultTrials(made.out, ingest("in"), ingest("out")).run();
}

}  // namespace
}  // namespace plimsoll
