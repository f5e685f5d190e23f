#include "ingest/graph/graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/philox.h"
#include "ingest/graph/graph_rows.h"
#include "io/file.h"
#include "io/npy.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
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
  EXPECT_EQ(run(in).ids, NodeIds::dense);
  {
    const GraphView graph(out_);
    EXPECT_THAT(graph.indptr(), ElementsAre(0, 2, 3, 3, 4));
    EXPECT_THAT(graph.indices(), ElementsAre(1, 3, 0, 1));
    EXPECT_TRUE(graph.node_id().empty());
  }
  in.direction = EdgeDirection::out;
  in.self_loops = SelfLoops::add;
  run(in);
  const GraphView graph(out_);
  EXPECT_THAT(graph.indptr(), ElementsAre(0, 2, 5, 6, 8));
  EXPECT_THAT(graph.indices(), ElementsAre(0, 1, 0, 1, 3, 2, 0, 3));
}

TEST_F(GraphIngest, IdsThatCountNoNodesAreFoundOut) {
  EXPECT_EQ(run(options("5000000000 7\n7 8\n")).ids, NodeIds::sparse);
  EXPECT_THAT(GraphView(out_).node_id(), ElementsAre(7, 8, 5'000'000'000));
  EXPECT_EQ(run(options("90000000 7\n7 8\n")).ids, NodeIds::sparse);
  EXPECT_EQ(run(options("9 7\n7 8\n")).ids, NodeIds::dense);
  EXPECT_EQ(GraphView(out_).nodes(), 10);
  EXPECT_EQ(run(options("b a\nc b\n")).ids, NodeIds::text);
  const GraphView graph(out_);
  EXPECT_EQ(graph.name(2), "c");
  EXPECT_THAT(graph.indices(), ElementsAre(1, 2));
}

TEST_F(GraphIngest, MemoryAndThreadsChangeNoByteAndAreNotExceeded) {
  for (const char* kind : {"dense", "sparse", "text"}) {
    GraphIngestOptions made = options(made_up(kind));
    made.edges.weight = "2";
    made.undirected = true;
    made.order = NodeOrderKind::degree;
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
  // Enough edges for several runs of each sort within the minimum memory.
  GraphIngestOptions made = options(made_up("sparse", 5'000));
  made.ids = NodeIds::sparse;
  made.undirected = true;
  made.out = "/place/graph";
  made.order = NodeOrderKind::degree;
  const auto ingest = [&](EdgeDirection direction) {
    return [&made, direction](FileSystem& files) {
      const LedgerCap cap(7 << 20);
      GraphIngestOptions turned = made;
      turned.direction = direction;
      run(turned, files);
    };
  };
  FaultTrials(made.out, ingest(EdgeDirection::in), ingest(EdgeDirection::out)).run();
}

TEST_F(GraphIngest, CommentsStandBeforeTheFirstEdgeUnlessOptionsSayOtherwise) {
  GraphIngestOptions made = options("# one\n% two\n#a b\n\n#c d\n");
  made.ids = NodeIds::text;
  EXPECT_THAT(error_text<InputError>([&] { run(made); }), HasSubstr("found only comments"));
  made.edges.comments = Comments::none;
  EXPECT_EQ(run(made).edges, 4);
  made = options("# one\na #b\n#c d\n%e f\n");
  const GraphIngestResult result = run(made);
  EXPECT_EQ(result.comments, 1);
  EXPECT_EQ(result.edges, 3);
  made.edges.comments = Comments::all;
  EXPECT_EQ(run(made).comments, 3);
}

TEST_F(GraphIngest, CommentsLongerThanAChunkPrecedeTheFirstEdge) {
  std::string text;
  for (int line = 0; line < 30'000; ++line) text += "# a line of comments\n";
  const GraphIngestResult result = run(options(text + "0 1\n1 2\n"));
  EXPECT_EQ(result.comments, 30'000);
  EXPECT_EQ(result.edges, 2);
}

TEST_F(GraphIngest, ALineThatMayBeAHeaderOverTextsIsAskedAbout) {
  GraphIngestOptions made = options("src,dst\na,b\n");
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }), HasSubstr("--header yes or --header no"));
  made.edges.header = true;
  GraphIngestResult result = run(made);
  EXPECT_EQ(result.edges, 1);
  EXPECT_EQ(result.headers, 1);
  made.edges.header = false;
  EXPECT_EQ(run(made).edges, 2);
}

TEST_F(GraphIngest, LaterFilesMayRepeatTheHeaderOrGoOnWithoutIt) {
  GraphIngestOptions made = options("von,nach,w\na,b,1\n");
  const auto add = [&](const std::string& name, const std::string& text) {
    write_bytes(folder_ / name, text);
    made.edges.files.push_back(folder_ / name);
  };
  add("same", "von,nach,w\nb,c,2\n");
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }), HasSubstr("begins another file too"));
  made.edges.header = true;
  add("other order", "w,von,nach\n3,c,d\n");
  add("none", "d,e,4\ne,f,5\n");
  made.edges.source = "von";
  made.edges.target = "nach";
  made.edges.weight = "w";
  const GraphIngestResult result = run(made);
  EXPECT_EQ(result.headers, 3);
  EXPECT_EQ(result.nodes, 6);
  const GraphView graph(out_);
  EXPECT_THAT(graph.indices(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(graph.edge_weight(), ElementsAre(1, 2, 3, 4, 5));
  add("short", "e,f\n");
  EXPECT_THAT(error_text<InputError>([&] { run(made); }), HasSubstr("found 2 columns, expected the 3 of"));
}

TEST_F(GraphIngest, LaterFilesNeedTheColumnsThatAreNumbered) {
  std::string wide;
  for (int column = 0; column < 500; ++column) wide += fmt::format("{}c{}", column > 0 ? "," : "", column);
  wide += "\n";
  for (int column = 0; column < 500; ++column) wide += fmt::format("{}{}", column > 0 ? "," : "", column);
  GraphIngestOptions made = options(wide + "\n");
  write_bytes(folder_ / "b.csv", "1,2\n");
  made.edges.files.push_back(folder_ / "b.csv");
  made.edges.target = "499";
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }), HasSubstr("b.csv: has no column '499'"));
  made.edges.target = "1";
  EXPECT_EQ(run(made).edges, 2);
}

TEST_F(GraphIngest, EveryChunkOfIdsThatBeginWithHashesIsRead) {
  std::string text = "#a #b\n";
  constexpr int64_t kLines = 60'000;  // Several chunks.
  for (int64_t line = 0; line < kLines; ++line) text += fmt::format("#{} #{}\n", line, line + 1);
  GraphIngestOptions made = options(text);
  made.edges.header = true;
  made.edges.comments = Comments::none;
  EXPECT_EQ(run(made).edges, kLines);
}

TEST_F(GraphIngest, AColumnNamedWithASlashIsNotAPath) {
  GraphIngestOptions made = options("a,b,in/w,out/w\nx,y,1,2\n");
  made.force = false;
  made.edges.header = true;
  made.edges.weight = "in/w";
  run(made);
  made.edges.weight = "out/w";
  EXPECT_THAT(error_text<Failure>([&] { run(made); }), HasSubstr("--force"));
  made.force = true;
  run(made);
  EXPECT_THAT(GraphView(out_).edge_weight(), ElementsAre(2));
}

TEST_F(GraphIngest, RowsOfTwoNamesWithOneHashAreNotTheSame) {
  write_bytes(folder_ / "nodes.csv", "id\na\nb\n");
  NodeTable table({.table = folder_ / "nodes.csv"});
  table.scan([](std::string_view, const LineReader&) {});
  const auto rows_of_one_hash = [&](std::array<uint32_t, 2> rows) {
    ExternalSort row_of(
        {.folder = folder_ / ".", .name = "rows", .payload = sizeof(uint32_t), .memory = 1 << 20});
    for (const uint32_t row : rows) row_of.add(7, &row);
    row_of.seal();
    require_single_rows(row_of, table, {.texts = true});
  };
  EXPECT_THROW(rows_of_one_hash({0, 1}), HashCollision);
  EXPECT_THAT(error_text<InputError>([&] {
                rows_of_one_hash({1, 1});
              }),
              HasSubstr("nodes.csv:3: found the ID"));
}

TEST_F(GraphIngest, WideEdgesNeedNoMoreMemory) {
  constexpr int64_t kEdges = 3000;
  constexpr int64_t kWidth = 1024;
  GraphIngestOptions made = options("");
  const auto write = [&](const char* name, const char* dtype, int64_t width, const auto& values) {
    NpyWriter writer(folder_ / name, dtype, {width});
    writer.append(std::span(std::as_const(values)));
    writer.finish();
    return folder_ / name;
  };
  made.edges.files = {write("edges.npy", "<i8", 2, std::vector<int64_t>(2 * kEdges, 1))};
  made.edges.features = {write("features.npy", "<f4", kWidth, std::vector<float>(kEdges * kWidth, 1))};
  const LedgerCap cap(10 << 20);
  EXPECT_EQ(run(made).edge_features, kWidth);
}

TEST_F(GraphIngest, NumbersWithLeadingZerosAreTextsUnlessTheyAreSaidToBeNumbers) {
  GraphIngestOptions made = options("1 2\n007 7\n");
  std::vector<std::string> notes;
  made.note = [&](const std::string& note) { notes.push_back(note); };
  EXPECT_EQ(run(made).ids, NodeIds::text);
  EXPECT_EQ(GraphView(out_).nodes(), 4);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("edges.txt:2:1: found the ID '007'"));
  made.ids = NodeIds::sparse;
  EXPECT_EQ(run(made).nodes, 3);
  EXPECT_EQ(notes.size(), 1U);
  // A zero in the table of nodes counts as well.
  made = options("1 7\n");
  write_bytes(folder_ / "nodes.csv", "id\n1\n007\n7\n");
  made.nodes.table = folder_ / "nodes.csv";
  EXPECT_EQ(run(made).nodes, 3);
  made.ids = NodeIds::sparse;
  EXPECT_THAT(error_text<InputError>([&] { run(made); }), HasSubstr("again"));
}

TEST_F(GraphIngest, AFarIdIsAnnouncedBeforeItsRowsAreWritten) {
  GraphIngestOptions made = options("0 1\n1 300000\n");
  made.ids = NodeIds::dense;
  std::string note;
  made.note = [&](const std::string& text) {
    note = text;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ / ".")) {
      if (file.path().filename() != "indptr.npy") continue;
      EXPECT_LE(file.file_size(), 4096U);
    }
  };
  run(made);
  EXPECT_THAT(note, HasSubstr("the greatest ID, 300,000, makes 300,001 nodes"));
  EXPECT_THAT(note, HasSubstr("2.29 MiB"));
  note.clear();
  made.node_count = 300'001;
  run(made);
  EXPECT_EQ(note, "");
}

TEST_F(GraphIngest, EmptyRowsCanBeInterrupted) {
  GraphIngestOptions made = options("0 1\n1 300000000\n");
  made.ids = NodeIds::dense;
  struct Stop {};
  int calls = 0;
  const auto stop = [&](const char* what, int64_t, int64_t) {
    if (std::string_view(what) == "edges" && ++calls == 3) throw Stop();
  };
  EXPECT_THROW(ingest_graph(made, stop), Stop);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(GraphIngest, AMatrixMarketFileHasRowsFromOneAndASize) {
  const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n% made by hand\n\n4 4 3\n";
  GraphIngestOptions made = options(head + "2 1 0.5\n3 3 2\n3 2 4\n");
  made.edges.weight = "2";
  const GraphIngestResult result = run(made);
  EXPECT_EQ(result.nodes, 4);
  EXPECT_EQ(result.headers, 0);
  const GraphView graph(out_);
  EXPECT_THAT(graph.indptr(), ElementsAre(0, 1, 3, 5, 5));
  EXPECT_THAT(graph.indices(), ElementsAre(1, 0, 2, 1, 2));
  EXPECT_THAT(graph.edge_weight(), ElementsAre(0.5, 0.5, 4, 4, 2));
  EXPECT_EQ(run(options("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")).edges, 1);
}

TEST_F(GraphIngest, AMatrixThatIsNoGraphOrIsDamagedIsRefused) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"%%MatrixMarket matrix array real general\n2 2\n", ":1:23: found 'array'"},
      {"%%MatrixMarket matrix coordinate complex general\n", ":1:34: found 'complex'"},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "found 'hermitian'"},
      {banner + "2 3 1\n1 2\n", ":2:1: found '2 3 1', expected a square matrix"},
      {banner, "ends after line 1"},
      {banner + "2 2\n", ":2:"},
      {banner + "2 2 2\n1 2\n", "ends after 1 entries, expected 2"},
      {banner + "2 2 1\n1 2\n2 1\n", "ends after 2 entries, expected 1"},
      {banner + "2 2 1\n0 1\n", ":3:1: found '0', expected a row or column from 1 to 2"},
      {banner + "2 2 1\n1 3\n", ":3:3: found '3'"}};
  for (const auto& [text, message] : bad) {
    EXPECT_THAT(error_text<InputError>([&] { run(options(text)); }), HasSubstr(message)) << text;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  GraphIngestOptions named = options("");
  write_bytes(folder_ / "a.mtx", "2 2 1\n1 2\n");
  named.edges.files = {folder_ / "a.mtx"};
  EXPECT_THAT(error_text<InputError>([&] { run(named); }), HasSubstr("no %%MatrixMarket banner"));
}

TEST_F(GraphIngest, ATableOfNodesMayHaveNoHeader) {
  GraphIngestOptions made = options("0 1\n1 2\n");
  const auto nodes = [&](const std::string& text) {
    write_bytes(folder_ / "nodes.csv", text);
    made.nodes.table = folder_ / "nodes.csv";
  };
  nodes("0,2\n1,1\n2,0\n");
  made.nodes.label = "1";
  run(made);
  EXPECT_THAT(GraphView(out_).y(), ElementsAre(2, 1, 0));
  // 0,1,... may be what pandas writes for columns without names, or a row.
  nodes("0,1\n1,1\n2,0\n");
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }),
              HasSubstr("--nodes-header yes or --nodes-header no"));
  made.nodes.header = false;
  run(made);
  EXPECT_THAT(GraphView(out_).y(), ElementsAre(1, 1, 0));
  made = options("a b\n");
  nodes("a,1\nb,0\n");
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }), HasSubstr("'a', '1'"));
  nodes("name,class\na,1\nb,0\n");
  EXPECT_EQ(run(made).nodes, 2);
}

TEST_F(GraphIngest, FeaturesThatAreMissingTakeTheValueThatIsGiven) {
  GraphIngestOptions made = options("0 1\n1 2\n");
  write_bytes(folder_ / "nodes.csv", "id,a,b\n0,,1 2\n1,3,\n2,NA,4 NaN\n");
  made.nodes.table = folder_ / "nodes.csv";
  made.nodes.features = {"a", "b"};
  EXPECT_THAT(error_text<InputError>([&] { run(made); }),
              AllOf(HasSubstr("nodes.csv:2:3: found ''"), HasSubstr("--missing NUMBER")));
  made.nodes.missing = -1;
  run(made);
  std::vector<float> x(9);
  GraphView(out_).copy_x(0, x);
  EXPECT_THAT(x, ElementsAre(-1, 1, 2, 3, -1, -1, -1, 4, -1));
}

TEST_F(GraphIngest, ASquareArrayOfTwoEdgesNeedsItsLayout) {
  GraphIngestOptions made = options("");
  NpyWriter writer(folder_ / "edges.npy", "<i8", {2});
  writer.append(std::span<const int64_t>(std::array<int64_t, 4>{0, 1, 5, 6}));
  writer.finish();
  made.edges.files = {folder_ / "edges.npy"};
  EXPECT_THAT(error_text<UsageError>([&] { run(made); }), HasSubstr("--layout rows"));
  made.edges.layout = EdgeArrayLayout::rows;
  run(made);
  EXPECT_THAT(GraphView(out_).indices(), ElementsAre(0, 5));
  made.edges.layout = EdgeArrayLayout::columns;
  run(made);
  EXPECT_THAT(GraphView(out_).indices(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace plimsoll
