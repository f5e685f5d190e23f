// Prints a batch of sampled neighbours as JSON. Compared with SciPy and PyTorch Geometric in
// tests/python/test_sampling.py.
//
//   sampling_twin FOLDER directional|bidirectional|induced disjoint|shared FAN_OUT...
//
// FOLDER has indptr.npy and indices.npy of the graph, and seeds.npy.

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/json.h"
#include "io/npy.h"
#include "sample/neighbour/neighbour_sampler.h"

using namespace plimsoll;

int main(int argc, char** argv) {
  const std::filesystem::path folder(argv[1]);
  const NpyView indptr(folder / "indptr.npy");
  const NpyView indices(folder / "indices.npy");
  const NpyView seeds(folder / "seeds.npy");
  const CsrTopology topology(indptr.values<int64_t>(), indices.values<int64_t>());
  const std::string_view type = argv[2];
  NeighbourOptions options;
  options.disjoint = argv[3] == std::string_view("disjoint");
  options.subgraph = type == "induced"         ? SubgraphType::induced
                     : type == "bidirectional" ? SubgraphType::bidirectional
                                               : SubgraphType::directional;
  for (int i = 4; i < argc; ++i) options.fan_outs.push_back(std::stoll(argv[i]));
  SampledSubgraph out;
  NeighbourSampler(topology, options, 1).sample(seeds.values<int64_t>(), 1, out);
  const Json json = {{"row", out.row},
                     {"col", out.col},
                     {"node", out.node},
                     {"edge", out.edge},
                     {"batch", out.batch},
                     {"nodes_per_hop", out.nodes_per_hop},
                     {"edges_per_hop", out.edges_per_hop}};
  fmt::print("{}\n", json.dump());
}
