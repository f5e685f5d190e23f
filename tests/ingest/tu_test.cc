#include "ingest/tu/tu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "store/graph_set.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"
#include "support/zip.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

using Files = std::map<std::string, std::string>;

// Two graphs with the nodes 1, 2, 3 and 4, 5; the arcs in disorder, one of them twice and one a self-loop.
Files made_up_files() {
  return {{"graph_indicator", "1\n1\n1\n2\n2\n"},
          {"graph_labels", "4\n-2\n"},
          {"A", "2, 1\n1, 2\n1, 2\n3, 3\n5, 4\n4, 5\n1, 3\n"},
          {"edge_labels", "5\n7\n7\n9\n5\n6\n7\n"},
          {"edge_attributes", "1\n2\n3\n4\n5\n6\n7\n"},
          {"node_labels", "3\n1\n3\n1\n1\n"},
          {"node_attributes", "0.5,  -2\n1.5e0,+3\n2.5, -4\n3.5, 5\n4.5, -6\n"}};
}

std::vector<ZipMember> members_of(const Files& files) {
  std::vector<ZipMember> members = {{"S/", "", 0}};
  for (const auto& [kind, text] : files) members.push_back({"S/S_" + kind + ".txt", text});
  return members;
}

class Tu : public testing::Test {
 protected:
  void write_folder(const Files& files) {
    source_ = folder_ / "S";
    std::filesystem::remove_all(source_);
    std::filesystem::create_directory(source_);
    for (const auto& [kind, text] : files) write_bytes(source_ / ("S_" + kind + ".txt"), text);
  }
  void write_zip(const std::vector<ZipMember>& members) {
    source_ = folder_ / "S.zip";
    write_bytes(source_, zip_of(members));
  }
  void write_text(const std::string& text) {
    source_ = folder_ / "S.txt";
    write_bytes(source_, text);
  }

  TuResult ingest(const std::string& node_features = "auto", const std::string& target = "graph") const {
    return ingest_tu(
        {.source = source_, .out = out_, .node_features = node_features, .target = target, .force = true},
        [](int64_t, int64_t) {});
  }
  GraphSetView ingested(const std::string& node_features = "auto",
                        const std::string& target = "graph") const {
    ingest(node_features, target);
    EXPECT_THAT(verify_data_set(out_), IsEmpty());
    return GraphSetView(out_);
  }
  // The refusal of what was written, which leaves no output and no memory behind.
  template <typename Kind = InputError>
  std::string refusal(const std::string& node_features = "auto", const std::string& target = "graph") const {
    std::filesystem::remove_all(out_);
    const int64_t held = Ledger::process().held();
    const std::string error = error_text<Kind>([&] { ingest(node_features, target); });
    EXPECT_EQ(Ledger::process().held(), held);
    EXPECT_FALSE(std::filesystem::exists(out_));
    return error;
  }
  // One of the files as given, or missing: the same refusal from a folder and from an archive.
  void expect_refused(const std::string& kind, const std::optional<std::string>& text,
                      const std::string& about) {
    Files files = made_up_files();
    if (text)
      files[kind] = *text;
    else
      files.erase(kind);
    write_folder(files);
    EXPECT_THAT(refusal(), HasSubstr(about)) << kind;
    write_zip(members_of(files));
    EXPECT_THAT(refusal(), HasSubstr(about)) << kind;
  }
  void expect_text_refused(const std::string& text, const std::string& about) {
    write_text(text);
    EXPECT_THAT(refusal(), HasSubstr(about)) << text;
  }

  TempFolder folder_;
  std::filesystem::path source_;
  std::filesystem::path out_ = folder_ / "out";
};

TEST_F(Tu, AFolderIsReadAsPyTorchGeometricReadsIt) {
  write_folder(made_up_files());
  const GraphSetView view = ingested();
  const GraphSpans& graphs = view.graphs();
  EXPECT_THAT(graphs.node_ptr, ElementsAre(0, 3, 5));
  EXPECT_THAT(graphs.edge_ptr, ElementsAre(0, 3, 5));
  EXPECT_THAT(graphs.x, ElementsAreArray({0.5, -2., 0., 0., 1.,  //
                                          1.5, 3.,  1., 0., 0.,  //
                                          2.5, -4., 0., 0., 1.,  //
                                          3.5, 5.,  1., 0., 0.,  //
                                          4.5, -6., 1., 0., 0.}));
  EXPECT_THAT(graphs.edges, ElementsAre(0, 1, 0, 2, 1, 0, /**/ 0, 1, 1, 0));
  EXPECT_THAT(graphs.edge_attr, ElementsAreArray({5., 0., 0., 2., 0., 0.,  //
                                                  7., 0., 0., 1., 0., 0.,  //
                                                  1., 1., 0., 0., 0., 0.,  //
                                                  6., 0., 1., 0., 0., 0.,  //
                                                  5., 1., 0., 0., 0., 0.}));
  EXPECT_THAT(graphs.y, ElementsAre(1, 0));
  EXPECT_THAT(graphs.node_y, IsEmpty());
  const GraphSetTables& tables = view.tables();
  EXPECT_THAT(tables.node_features,
              ElementsAre("attribute_0", "attribute_1", "label_1", "label_2", "label_3"));
  EXPECT_THAT(tables.edge_features,
              ElementsAre("attribute_0", "label_5", "label_6", "label_7", "label_8", "label_9"));
  ASSERT_EQ(tables.splits.size(), 1U);
  EXPECT_EQ(tables.splits[0].name, "all");
  EXPECT_EQ(tables.splits[0].graphs, 2);
  EXPECT_THAT(tables.recordings, IsEmpty());
  EXPECT_THAT(tables.vocabulary.keys, IsEmpty());
}

TEST_F(Tu, AnArchiveHasTheColumnsOfItsFolder) {
  write_folder(made_up_files());
  const Json folder = ingested().set().manifest();
  for (std::vector<ZipMember> members :
       {members_of(made_up_files()),
        // What macOS adds, a name that leads out of the folder, and a folder in a folder.
        [] {
          std::vector<ZipMember> odd = members_of(made_up_files());
          for (ZipMember& member : odd) member.name = "../../up/" + member.name;
          odd.push_back({"__MACOSX/S/._S_graph_indicator.txt", "junk", 0});
          odd.push_back({"x/._T_graph_indicator.txt", "junk", 0});
          odd.push_back({"/etc/passwd", "junk", 0});
          return odd;
        }()}) {
    write_zip(members);
    const GraphSetView view = ingested();
    EXPECT_EQ(view.set().manifest()["columns"], folder["columns"]);
    EXPECT_EQ(view.set().manifest()["provenance"]["sources"][0]["source"], "S.zip");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "up"));
  std::filesystem::rename(source_, folder_ / "no_ending");  // told by its first bytes
  source_ = folder_ / "no_ending";
  EXPECT_EQ(ingested().set().manifest()["columns"], folder["columns"]);
}

TEST_F(Tu, TheFormOfTheTextDoesNotMatter) {
  write_folder(made_up_files());
  const Json plain = ingested().set().manifest()["columns"];
  Files files = made_up_files();
  for (auto& [kind, text] : files) {
    std::string other;
    for (const char c : text) other += c == '\n' ? " \r\n" : c == ',' ? "\t," : std::string(1, c);
    text = other + "\n \n\n";
  }
  files["A"].resize(files["A"].find("1\t, 3") + 5);  // the last line without an end
  write_folder(files);
  EXPECT_EQ(ingested().set().manifest()["columns"], plain);
}

TEST_F(Tu, ATextIsReadToTheSameGraphs) {
  Files files = made_up_files();
  files.erase("edge_labels");
  files.erase("edge_attributes");
  files.erase("node_attributes");
  write_folder(files);
  const Json folder = ingested().set().manifest()["columns"];
  write_text("2\n3 4\n3 3 1 2 1\n1 1 0\n3 1 2\n2 -2\n1 1 1\n1 1 0\n");
  EXPECT_EQ(ingested().set().manifest()["columns"], folder);

  files["node_attributes"] = made_up_files()["node_attributes"];
  write_folder(files);
  const Json with_attributes = ingested().set().manifest()["columns"];
  write_text("2\n3 4\n3 3 1 2 1 0.5 -2\n1 1 0 1.5 3\n3 1 2 2.5 -4\n2 -2\n1 1 1 3.5 5\n1 1 0 4.5 -6");
  EXPECT_EQ(ingested().set().manifest()["columns"], with_attributes);
}

TEST_F(Tu, NodeFeaturesAreChosen) {
  write_folder(made_up_files());
  EXPECT_THAT(ingested("labels").tables().node_features, ElementsAre("label_1", "label_2", "label_3"));
  EXPECT_THAT(ingested("attributes").tables().node_features, ElementsAre("attribute_0", "attribute_1"));
  EXPECT_THAT(ingested("attributes").graphs().x,
              ElementsAreArray({0.5, -2., 1.5, 3., 2.5, -4., 3.5, 5., 4.5, -6.}));
  EXPECT_THAT(ingested("constant").tables().node_features, ElementsAre("constant"));
  EXPECT_THAT(ingested("constant").graphs().x, ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(ingested("degree").tables().node_features, ElementsAre("degree_0", "degree_1"));
  EXPECT_THAT(ingested("degree").graphs().x, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
}

TEST_F(Tu, WithoutLabelsAndAttributesDegreesAreTheFeatures) {
  Files files = made_up_files();
  for (const char* kind : {"node_labels", "node_attributes", "edge_labels", "edge_attributes"})
    files.erase(kind);
  files["A"] = "1, 2\n1, 2\n3, 2\n2, 2\n2, 1\n4, 5\n";  // arcs that arrive count, each once
  write_folder(files);
  const GraphSetView view = ingested();
  EXPECT_THAT(view.tables().node_features, ElementsAre("degree_0", "degree_1", "degree_2"));
  EXPECT_THAT(view.graphs().x, ElementsAre(0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0));
  EXPECT_EQ(view.edge_features(), 0);
  EXPECT_THAT(refusal("labels"), HasSubstr("no node labels"));
  EXPECT_THAT(refusal("attributes"), HasSubstr("no node attributes"));
  EXPECT_THAT(refusal("auto", "node"), HasSubstr("found 0 labels of a node"));
}

TEST_F(Tu, NodeLabelsCanBeTheTarget) {
  write_folder(made_up_files());
  {
    const GraphSetView view = ingested("auto", "node");
    EXPECT_THAT(view.graphs().node_y, ElementsAre(1, 0, 1, 0, 0));
    EXPECT_THAT(view.graphs().y, ElementsAre(1, 0));
    EXPECT_THAT(view.tables().node_features, ElementsAre("attribute_0", "attribute_1"));
    EXPECT_EQ(ingest("auto", "node").classes, 2);
  }
  Files files = made_up_files();
  files.erase("node_attributes");
  write_folder(files);
  EXPECT_THAT(ingested("auto", "node").tables().node_features, ElementsAre("degree_0", "degree_1"));
  files["node_labels"] = "1,2\n1,2\n1,2\n1,2\n1,2\n";
  write_folder(files);
  EXPECT_THAT(refusal("auto", "node"), HasSubstr("found 2 labels of a node"));
  EXPECT_THAT(refusal<UsageError>("labels", "node"), HasSubstr("--target node"));
  EXPECT_THAT(refusal<UsageError>("all"), HasSubstr("'all'"));
  EXPECT_THAT(refusal<UsageError>("auto", "edge"), HasSubstr("'edge'"));
}

TEST_F(Tu, EveryColumnOfLabelsIsOneHot) {
  Files files = made_up_files();
  files.erase("node_attributes");
  files["node_labels"] = "1, -1\n0, 0\n0, 0\n1, 0\n0, 0\n";
  write_folder(files);
  const GraphSetView view = ingested();
  EXPECT_THAT(view.tables().node_features, ElementsAre("label_0_0", "label_0_1", "label_1_-1", "label_1_0"));
  EXPECT_THAT(view.graphs().x, ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1));
}

TEST_F(Tu, WhatIsThereFromTheSameSourceIsLeftAlone) {
  write_folder(made_up_files());
  const TuOptions options{.source = source_, .out = out_};
  const auto go = [&](const TuOptions& how) { return ingest_tu(how, [](int64_t, int64_t) {}); };
  const TuResult first = go(options);
  EXPECT_FALSE(first.already_there);
  const std::string manifest = read_bytes(out_ / "manifest.json");
  const TuResult again = go(options);
  EXPECT_TRUE(again.already_there);
  for (const TuResult& result : {first, again}) {
    EXPECT_EQ(result.graphs, 2);
    EXPECT_EQ(result.nodes, 5);
    EXPECT_EQ(result.edges, 5);
    EXPECT_EQ(result.classes, 2);
    EXPECT_EQ(result.node_features, 5);
    EXPECT_EQ(result.edge_features, 6);
  }
  TuOptions other = options;
  other.node_features = "constant";
  EXPECT_THAT(error_text<Failure>([&] { go(other); }), HasSubstr("--force"));
  write_bytes(source_ / "S_edge_labels.txt", "5\n7\n7\n9\n5\n6\n8\n");
  EXPECT_THAT(error_text<Failure>([&] { go(options); }), HasSubstr("--force"));
  EXPECT_EQ(read_bytes(out_ / "manifest.json"), manifest);
  write_folder(made_up_files());
  ingest();
  EXPECT_EQ(read_bytes(out_ / "manifest.json"), manifest);
}

TEST_F(Tu, MissingAndEmptyFilesAreRefused) {
  expect_refused("graph_indicator", std::nullopt, "holds no NAME_graph_indicator.txt");
  expect_refused("A", std::nullopt, "S_A.txt: no such file");
  expect_refused("graph_labels", std::nullopt, "S_graph_labels.txt: no such file");
  for (const char* kind : {"graph_indicator", "graph_labels", "A", "node_labels", "node_attributes",
                           "edge_labels", "edge_attributes"})
    for (const char* text : {"", "\n\n"})
      expect_refused(kind, text, std::string("S_") + kind + ".txt: ends after line");
}

TEST_F(Tu, WhatIsNoNumberIsRefusedWithItsPlace) {
  expect_refused("graph_indicator", "1\n1\nx\n2\n2\n",
                 "S_graph_indicator.txt:3:1: found 'x', expected the graph");
  expect_refused("graph_labels", "4\n1.5\n", "S_graph_labels.txt:2:1: found '1.5', expected the label");
  expect_refused("graph_labels", "4\n99999999999\n", "from -2147483648 to 2147483647");
  expect_refused("A", "2, 1\n1, b\n", "S_A.txt:2:4: found 'b', expected a node, a whole number");
  expect_refused("A", "2, 1\n1\n", "S_A.txt:2:1: found '1', expected two nodes");
  expect_refused("A", "2, 1\n1, 2, 3\n", "S_A.txt:2:1: found '1, 2, 3', expected two nodes");
  expect_refused("A", "2, 1\n\n1, 2\n", "S_A.txt:2: found a blank line");
  expect_refused("A", std::string("2, 1\n\0\x01\n", 8), "found '\\x00\\x01'");
  expect_refused("A", "1, 1" + std::string(3, '9') + std::string(40, '9') + "\n",
                 "...', expected a node from 1 to 5");
  expect_refused("node_labels", "3\n1\n3\n1\n1,\n", "S_node_labels.txt:5:1: found '1,', expected 1 numbers");
  expect_refused("node_labels", "3\n1\n3\n1\n\xEF\n", "found '\\xef', expected a label");
  for (const char* value : {"nan", "inf", "1e39", "1e999", "-", "0x10", "1 2", "+-1"})
    expect_refused("node_attributes", std::string("1, 2\n1, ") + value + "\n1,1\n1,1\n1,1\n",
                   std::string("S_node_attributes.txt:2:4: found '") + value + "', expected an attribute");
  expect_refused("node_attributes", "1, 2\n1\n1,1\n1,1\n1,1\n",
                 "S_node_attributes.txt:2:1: found '1', expected 2");
  expect_refused("edge_labels", "5\n7\n7\n9\n5\n6\n7,7\n", "S_edge_labels.txt:7:1");
  expect_refused("edge_attributes", "1\n2\n3\n4\n5\n6\n?\n", "S_edge_attributes.txt:7:1: found '?'");
}

TEST_F(Tu, NumbersThatDoNotFitTogetherAreRefused) {
  expect_refused("A", "2, 1\n0, 1\n", "S_A.txt:2:1: found '0', expected a node from 1 to 5");
  expect_refused("A", "2, 1\n1, 6\n", "S_A.txt:2:4: found '6', expected a node from 1 to 5");
  expect_refused("A", "1, 4\n",
                 "expected two nodes of graph 1, that of the source, which has the nodes 1 to 3");
  expect_refused("A", "5, 3\n",
                 "expected two nodes of graph 2, that of the source, which has the nodes 4 to 5");
  expect_refused("graph_indicator", "1\n2\n1\n2\n2\n",
                 "S_graph_indicator.txt:3:1: found '1', expected graph 2 or 3");
  expect_refused("graph_indicator", "1\n1\n1\n3\n3\n",
                 "S_graph_indicator.txt:4:1: found '3', expected graph 1 or 2");
  expect_refused("graph_indicator", "2\n2\n2\n2\n2\n", "expected graph 1, with which the numbers begin");
  expect_refused("graph_indicator", "0\n1\n1\n2\n2\n", "found '0', expected the graph of a node from 1");
  expect_refused("graph_labels", "4\n",
                 "S_graph_labels.txt: ends after line 1, expected a row for each of the 2");
  expect_refused("graph_labels", "4\n-2\n4\n",
                 "S_graph_labels.txt:3:1: found '4', expected the end, because");
  expect_refused("node_labels", "3\n1\n3\n1\n",
                 "S_node_labels.txt: ends after line 4, expected a row for each of the 5");
  expect_refused("node_labels", "3\n1\n3\n1\n1\n1\n", "S_node_labels.txt:6:1: found '1', expected the end");
  expect_refused("node_attributes", "1\n1\n1\n1\n1\n1\n", "S_node_attributes.txt:6:1");
  expect_refused("edge_labels", "5\n7\n7\n9\n5\n6\n",
                 "S_edge_labels.txt: ends after line 6, expected a row for each of the 7");
  expect_refused("edge_attributes", "5\n7\n7\n9\n5\n6\n6\n6\n",
                 "S_edge_attributes.txt:8:1: found '6', expected the end");
}

TEST_F(Tu, LabelsThatAreNoClassesAreRefused) {
  expect_refused("node_labels", "0\n1\n2\n3\n65536\n",
                 "values from 0 to 65536, expected a span of at most 65536");
  expect_refused("edge_labels", "-2147483648\n7\n7\n9\n5\n6\n2147483647\n", "S_edge_labels.txt: column 1");
  std::string indicator;
  std::string labels;
  for (int i = 0; i < 65'537; ++i) {
    indicator += "1\n";
    labels += std::to_string(i) + "\n";
  }
  write_folder(
      {{"graph_indicator", indicator}, {"graph_labels", "1\n"}, {"A", "1, 2\n"}, {"node_labels", labels}});
  EXPECT_THAT(refusal(), HasSubstr("more than 65536 different labels"));
}

TEST_F(Tu, SourcesThatAreNoDataSetAreRefused) {
  source_ = folder_ / "absent";
  EXPECT_THAT(refusal(), HasSubstr("no such file or folder"));
  write_folder(made_up_files());
  write_bytes(source_ / "T_graph_indicator.txt", "1\n");
  EXPECT_THAT(refusal(), HasSubstr("holds several data sets (S and T)"));
  std::vector<ZipMember> members = members_of(made_up_files());
  members.push_back({"T/S_graph_indicator.txt", "1\n"});
  write_zip(members);
  EXPECT_THAT(refusal(), HasSubstr("holds several data sets (S/S and T/S)"));
  write_zip({});
  EXPECT_THAT(refusal(), HasSubstr("holds no NAME_graph_indicator.txt"));
  write_folder(made_up_files());
  std::filesystem::remove(source_ / "S_A.txt");
  std::filesystem::create_directory(source_ / "S_A.txt");
  EXPECT_THAT(refusal(), HasSubstr("S_A.txt: no such file"));
}

TEST_F(Tu, ADamagedArchiveIsRefused) {
  write_zip(members_of(made_up_files()));
  const std::string bytes = read_bytes(source_);
  for (size_t size = 1; size < bytes.size(); size += 7) {
    write_bytes(source_, bytes.substr(0, size));
    EXPECT_THAT(refusal(), HasSubstr("cannot be read as a zip archive")) << size;
  }
  // Whatever bit changes, the graphs are the same or it is refused; features may go with the name of their
  // file.
  const auto columns = [&] {
    Json result = read_manifest(out_)["columns"];
    result.erase("x");
    result.erase("edge_attr");
    return result;
  };
  write_bytes(source_, bytes);
  ingest();
  const Json whole = columns();
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); at += 17) {
    write_bytes(source_, bytes);
    flip_bit(source_, at, static_cast<int>(at % 8));
    try {
      ingest();
      EXPECT_EQ(columns(), whole) << at;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(Tu, ATextThatIsDamagedIsRefusedWithItsPlace) {
  expect_text_refused("", "S.txt: ends after line 0, expected the number of graphs");
  expect_text_refused("x\n", "S.txt:1:1: found 'x', expected the number of graphs");
  expect_text_refused("0\n", "S.txt:1:1: found '0', expected the number of graphs from 1");
  expect_text_refused("2\n1 0\n0 0\n", "S.txt: ends after line 3, expected graph 1 of 2");
  expect_text_refused("1\n2 0\n0 0\n", "S.txt: ends after line 3, expected node 1 of the 2 of graph 0");
  expect_text_refused("1\n1 0\n0 0\n0 0\n", "S.txt:4:1: found '0 0', expected the end after the last of 1");
  expect_text_refused("1\n0 0\n", "S.txt:2:1: found '0', expected the number of nodes");
  expect_text_refused("1\n1\n0 0\n", "S.txt:2:2: found '', expected the label of a graph");
  expect_text_refused("1\n1 0 7\n0 0\n", "S.txt:2:5: found '7', expected the end of the line");
  expect_text_refused("1\n1 0\n0\n", "S.txt:3:2: found '', expected the degree");
  expect_text_refused("1\n1 0\n0 -1\n", "S.txt:3:3: found '-1', expected the degree");
  expect_text_refused("1\n1 0\na 0\n", "S.txt:3:1: found 'a', expected the tag");
  expect_text_refused("1\n2 0\n0 2 1\n0 0\n", "S.txt:3:3: found '2', expected a degree of 1");
  expect_text_refused("1\n2 0\n0 1 2\n0 0\n", "S.txt:3:5: found '2', expected a neighbour from 0 to 1");
  expect_text_refused("1\n2 0\n0 1 -1\n0 0\n", "S.txt:3:5: found '-1', expected a neighbour");
  expect_text_refused("1\n2 0\n0 1 1 0.5\n0 1 0\n", "S.txt:4:1: found '0 1 0', expected 1 attributes");
  expect_text_refused("1\n2 0\n0 1 1 x\n0 1 0\n", "S.txt:3:7: found 'x', expected an attribute");
  expect_text_refused("1\n2 0\n0 2147483647 1\n0 0\n", "expected a degree of 1");
  expect_text_refused("1\n2147483647 0\n0 0\n", "expected node 1 of the 2147483647");
}

TEST_F(Tu, ABombEndsAtTheBudget) {
  // 64 MiB of arcs in 64 KiB.
  std::string arcs;
  while (arcs.size() < (64 << 20)) arcs += "1, 2\n2, 1\n";
  Files files = {{"graph_indicator", "1\n1\n"}, {"graph_labels", "0\n"}, {"A", std::move(arcs)}};
  write_zip(members_of(files));
  files["A"] = "1, 2\n";
  const LedgerCap cap(16 << 20);
  EXPECT_NE(refusal<BudgetExceeded>(), "");
  write_zip(members_of(files));
  EXPECT_EQ(ingest().edges, 1);
  // A line without an end.
  files["A"].assign(64 << 20, '1');
  write_zip(members_of(files));
  EXPECT_NE(refusal<BudgetExceeded>(), "");
  // Features as wide as that.
  files["A"] = "1, 2\n";
  for (std::string* text : {&files["graph_indicator"], &files["node_labels"]})
    for (int i = 0; i < 100; ++i) *text += "1\n";
  files["node_labels"] += "0\n65535\n";
  write_zip(members_of(files));
  EXPECT_NE(refusal<BudgetExceeded>(), "");
}

TEST_F(Tu, ALineLongerThanAnyRowIsRefused) {
  Files files = made_up_files();
  files["A"].assign((16 << 20) + 1, '1');
  write_folder(files);
  EXPECT_THAT(refusal(), HasSubstr("S_A.txt:1: found a line of more than"));
}

}  // namespace
}  // namespace plimsoll
