#include "cli/trainer.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cli/known_tasks.h"
#include "cli/train_verb.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Makes malloc keep freed memory, because blocks repeatedly allocate and free the same few MB, and pages that
// malloc keeps stay mapped. The ledger, not malloc, limits how much is held at once.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  // One arena: memory freed in a thread's own arena cannot be reused by other threads and is never returned.
  // Tensors are in the slab, so threads seldom contend for malloc.
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace

int run_trainer(int argc, char** argv, Exchange* exchange, int sharers) {
  const char* const caller = std::getenv(kBuildVariable);
  if (caller != nullptr && std::strcmp(caller, build_id()) != 0) {
    std::cerr << "plimsoll: the builds differ: plimsoll-train is build " << build_id()
              << ", plimsoll is build " << caller << "; build both together (make build)\n";
    return 1;
  }
  keep_freed_memory();
  register_known_tasks();
  install_ledger_allocator();

  CLI::App app("Train graph neural networks within a memory budget.", "plimsoll");
  const auto run = [&](auto options, RunsIn) {
    options.resources.sharers = sharers;
    run_verb(options, exchange);
  };
  for (const Verb& verb : trainer_verbs(run)) verb.add(app);
  return run_command(app, argc, argv);
}

}  // namespace plimsoll
