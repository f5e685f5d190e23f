#include "run/predict_run.h"

#include <fmt/format.h>

#include "config/earlier_runs.h"
#include "engine/blocks/shared_file.h"
#include "io/input_stream.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "memory/vector.h"
#include "run/agreement.h"
#include "run/data_check.h"
#include "run/smallest_budget.h"
#include "run/task.h"

namespace plimsoll {
namespace {

// Returns a hash of the bytes of a file.
std::string hash_of(const std::filesystem::path& file) {
  constexpr size_t kBytes = size_t{1} << 16;
  const auto stream = InputStream::open(file);
  Vector<char, Tag::columns> bytes(kBytes);
  while (stream->read(bytes.data(), kBytes) == kBytes) continue;
  return stream->source_hash();
}

int64_t rehearse(PredictionRequest request, Rehearsal& rehearsal) {
  request.rehearsal = &rehearsal;
  return find_task(request.recipe.task).predict(request);
}

}  // namespace

int64_t predict_run(PredictionRequest request) {
  const std::filesystem::path copy = nearest_copy(request.data);
  require_free(request.out, request.force, {request.data, copy, request.folder.root});
  if (!request.nodes.empty() && kind_of(request.data) != kGraphKind)
    throw UsageError(fmt::format("--nodes is for one giant graph, but {} is a {}; leave --nodes out",
                                 request.data.string(), kind_of(request.data)));
  request.data = copy;
  request.recipe = load_run_recipe(request.folder.recipe());
  const auto predict = [&] {
    check_data(request.data, request.folder, {});
    if (request.exchange != nullptr) {
      Facts facts = facts_of_use(request.recipe, request.data);
      facts.emplace_back("--out", std::filesystem::absolute(request.out).lexically_normal().string());
      facts.emplace_back("--embeddings", request.embeddings ? "given" : "not given");
      facts.emplace_back("--nodes", request.nodes.empty() ? "not given" : hash_of(request.nodes));
      require_agreement(request.exchange, facts);
    }
    return find_task(request.recipe.task).predict(request);
  };
  const int64_t rows = do_within({.purpose = "to predict with " + request.folder.root.string(),
                                  .memory = request.memory,
                                  .release = request.release},
                                 predict, [&](Rehearsal& rehearsal) { rehearse(request, rehearsal); });
  if (!is_there_for_ranks(request.exchange, request.out / "manifest.json"))
    throw Failure(request.out.string() + ": was written, but no longer exists");
  return rows;
}

int64_t budget_to_predict(PredictionRequest request) {
  request.recipe = load_run_recipe(request.folder.recipe());
  request.data = nearest_copy(request.data);
  return budget_of([&](Rehearsal& rehearsal) { rehearse(request, rehearsal); }, request.memory);
}

}  // namespace plimsoll
