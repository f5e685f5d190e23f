#include "nn/path_conv.h"

namespace plimsoll {

PathConv::PathConv(ParameterList& parameters, const std::string& prefix, int64_t hidden, int64_t centers,
                   bool distances_only) {
  const int64_t angles = distances_only ? 0 : kAngleGaussians;
  const int64_t torsions = distances_only ? 0 : kTorsionGaussians;
  const int64_t h = hidden;
  struct Shape {
    int64_t out, in;
    bool xavier;  // If true, Xavier initialisation with bias 0; otherwise the initialisation of
                  // torch.nn.Linear.
  };
  const std::array<Shape, 9> layers = {{{h, centers, true},
                                        {h, h, false},
                                        {h, centers + angles, true},
                                        {h, h, false},
                                        {h, centers + angles + torsions, true},
                                        {h, h, false},
                                        {4 * h, 7 * h, true},
                                        {2 * h, 4 * h, true},
                                        {h, 2 * h, true}}};
  for (size_t w = 0; w < weights_.size(); w += 2) {
    const auto [out, in, xavier] = layers[w / 2];
    weights_[w] = parameters.add(prefix + "." + kPathWeightNames[w], {out, in},
                                 xavier ? Init::glorot(in, out) : Init::linear(in));
    weights_[w + 1] = parameters.add(prefix + "." + kPathWeightNames[w + 1], {out},
                                     xavier ? Init::zeros() : Init::linear(in));
  }
}

}  // namespace plimsoll
