#include "cli/trainer.h"

int main(int argc, char** argv) {
  return plimsoll::run_trainer(argc, argv);
}
