#pragma once

// The one place where yaml-cpp enters.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
