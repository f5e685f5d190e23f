#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "cli/plan_verb.h"
#include "cli/train_verb.h"
#include "ops/allocator.h"

namespace {

// Blocks take and give back the same few MB again and again. Memory that malloc keeps is memory whose pages
// are there already; the ledger, not malloc, decides how much is held at once.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  // What threads of their own arenas free is nobody else's, and its end is never given back; tensors are in
  // the slab, so that threads seldom meet in malloc.
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const caller = std::getenv(plimsoll::kBuildVariable);
  if (caller != nullptr && std::strcmp(caller, plimsoll::build_id()) != 0) {
    std::cerr << "plimsoll: plimsoll-train is of build " << plimsoll::build_id() << ", plimsoll of build "
              << caller << "; build both together (make build)\n";
    return 1;
  }
  keep_freed_memory();
  plimsoll::install_ledger_allocator();

  CLI::App app("Train graph neural networks inside a stated memory budget.", "plimsoll");
  plimsoll::add_plan(app, plimsoll::run_plan);
  plimsoll::add_train(app, plimsoll::run_train);
  plimsoll::add_slurm(app, plimsoll::run_slurm);
  plimsoll::add_evaluate(app, plimsoll::run_evaluate);
  plimsoll::add_predict(app, plimsoll::run_predict);
  return plimsoll::run_command(app, argc, argv);
}
