#pragma once

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.h"
#include "io/file_system.h"

namespace plimsoll {

/// A file system in memory that can lose power: unsynced data may then be gone. Paths begin at its root, with
/// or without a slash. There are no links.
class MemoryFiles : public FileSystem {
 public:
  using Path = std::filesystem::path;

  MemoryFiles() = default;
  MemoryFiles(MemoryFiles&&) = default;
  MemoryFiles& operator=(MemoryFiles&&) = default;
  MemoryFiles& operator=(const MemoryFiles& other) { return *this = MemoryFiles(other); }
  /// Copies the state without the open files.
  MemoryFiles(const MemoryFiles& other) : FileSystem() {
    std::map<NodePtr, NodePtr> twin_of;
    nodes_.clear();
    for (const NodePtr& node : other.nodes_) nodes_.push_back(twin_of[node] = std::make_shared<Node>(*node));
    for (const NodePtr& node : nodes_)
      for (Names* names : {&node->names, &node->synced_names})
        for (auto& [name, child] : *names) child = twin_of.at(child);
  }

  int open(const Path& path, Open how) override {
    Node* const folder = find(path.parent_path());
    if (folder == nullptr) return -1;
    if (!folder->is_folder) return refuse(ENOTDIR);
    auto& names = folder->names;
    const auto found = names.find(name_of(path));
    if (found == names.end() && how == Open::read) return refuse(ENOENT);
    if (found != names.end() && how == Open::write_new) return refuse(EEXIST);
    if (found != names.end() && how != Open::read && found->second->is_folder) return refuse(EISDIR);
    const NodePtr node = found != names.end() ? found->second : add(names, path, false);
    if (how == Open::write) node->bytes.clear();
    open_.push_back({node, 0, false});
    return static_cast<int>(open_.size()) - 1;
  }
  int64_t read(int file, void* data, size_t bytes) override {
    auto& [node, at, locked] = open_.at(static_cast<size_t>(file));
    if (node->is_folder) return refuse(EISDIR);
    const size_t got = std::min(bytes, node->bytes.size() - at);
    std::memcpy(data, node->bytes.data() + at, got);
    at += got;
    return static_cast<int64_t>(got);
  }
  int64_t write(int file, int64_t offset, const void* data, size_t bytes) override {
    std::string& all = open_.at(static_cast<size_t>(file)).node->bytes;
    const auto at = static_cast<size_t>(offset);
    if (all.size() < at + bytes) all.resize(at + bytes);
    std::memcpy(all.data() + at, data, bytes);
    return static_cast<int64_t>(bytes);
  }
  int sync(int file) override {
    Node& node = *open_.at(static_cast<size_t>(file)).node;
    node.synced_bytes = node.bytes;
    return 0;
  }
  void close(int file) override { open_.at(static_cast<size_t>(file)) = {}; }
  int lock(int file, const Path& path) override {
    OpenFile& mine = open_.at(static_cast<size_t>(file));
    for (const OpenFile& other : open_)
      if (&other != &mine && other.node == mine.node && other.locked) return refuse(EWOULDBLOCK);
    mine.locked = true;
    return find(path) == mine.node.get() ? 0 : refuse(ESTALE);
  }

  bool exists(const Path& path) override { return find(path) != nullptr; }
  std::optional<std::vector<std::string>> names_in(const Path& path) override {
    const Node* const node = find(path);
    if (node == nullptr || !node->is_folder) return std::nullopt;
    std::vector<std::string> names;
    for (const auto& [name, child] : node->names) names.push_back(name);
    return names;
  }
  int make_folder(const Path& path) override {
    Node* const folder = find(path.parent_path());
    if (folder == nullptr) return -1;
    if (!folder->is_folder) return refuse(ENOTDIR);
    if (folder->names.contains(name_of(path))) return refuse(EEXIST);
    add(folder->names, path, true);
    return 0;
  }
  int rename(const Path& from, const Path& to, Rename how) override {
    const Node* const source = find(from);
    if (source == nullptr) return -1;
    const Node* const target = find(to);
    if (target == nullptr && (errno != ENOENT || how == Rename::exchange)) return -1;
    if (target != nullptr && how == Rename::no_replace) return refuse(EEXIST);
    if (target != nullptr && how == Rename::replace) {
      if (target->is_folder && !source->is_folder) return refuse(EISDIR);
      if (!target->is_folder && source->is_folder) return refuse(ENOTDIR);
      if (!target->names.empty()) return refuse(ENOTEMPTY);
    }
    Node* const folder = find(to.parent_path());
    if (folder == nullptr) return -1;
    NodePtr& old_place = find(from.parent_path())->names[name_of(from)];
    std::swap(old_place, folder->names[name_of(to)]);
    if (how != Rename::exchange) find(from.parent_path())->names.erase(name_of(from));
    return 0;
  }
  int remove_file(const Path& path) override { return remove(path, false); }
  int remove_folder(const Path& path) override {
    if (exists(path) && find(path)->is_folder && !find(path)->names.empty()) return refuse(ENOTEMPTY);
    return remove(path, true);
  }
  int remove_tree(const Path& path) override {
    Node* const node = find(path);
    if (node == nullptr) return errno == ENOENT ? 0 : -1;
    empty(*node);
    return remove(path, node->is_folder);
  }
  int sync_folder(const Path& path) override {
    Node* const node = find(path);
    if (node == nullptr) return -1;
    if (!node->is_folder) return refuse(ENOTDIR);
    node->synced_names = node->names;
    return 0;
  }

  /// Sets the content to what a disk may hold after a power failure now. Seed 0: only synced data. Seed 1:
  /// everything. Other seeds draw for each folder whether changes of its names since its last sync happened,
  /// and for each file whether its bytes are those of its last sync, all, a part, or zeros.
  void lose_power(uint32_t seed) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      const uint32_t luck = seed < 2 ? seed : Philox(seed)({i, 0, 0, 0})[0] % 4;
      if (luck == 0 || luck == 2) node.names = node.synced_names;
      if (node.bytes != node.synced_bytes) {
        if (luck == 0) node.bytes = node.synced_bytes;
        if (luck == 2) node.bytes.resize(node.bytes.size() / 2);
        if (luck == 3) node.bytes.assign(node.bytes.size(), '\0');
      }
      node.synced_names = node.names;
      node.synced_bytes = node.bytes;
    }
  }

  /// Returns everything at and below a path: the bytes of files by their relative path. Folders end in a
  /// slash.
  std::map<std::string, std::string> tree(const Path& path) {
    std::map<std::string, std::string> all;
    if (const Node* const node = find(path)) list(*node, "", all);
    return all;
  }

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePtr>;
  struct Node {
    bool is_folder = true;
    std::string bytes, synced_bytes;
    Names names, synced_names;
  };
  struct OpenFile {
    NodePtr node;
    size_t at = 0;
    bool locked = false;
  };

  static int refuse(int error) {
    errno = error;
    return -1;
  }
  static std::string name_of(const Path& path) { return path.filename().string(); }
  NodePtr add(Names& names, const Path& path, bool is_folder) {
    const auto node = std::make_shared<Node>();
    node->is_folder = is_folder;
    nodes_.push_back(node);
    return names[name_of(path)] = node;
  }
  // Returns null with errno set if nothing exists there.
  Node* find(const Path& path) {
    Node* node = nodes_.front().get();
    for (const Path& part : path.relative_path()) {
      if (part.empty() || part == ".") continue;
      const auto found = node->names.find(part.string());
      if (found == node->names.end()) {
        errno = node->is_folder ? ENOENT : ENOTDIR;
        return nullptr;
      }
      node = found->second.get();
    }
    return node;
  }
  int remove(const Path& path, bool is_folder) {
    const Node* const node = find(path);
    if (node == nullptr) return -1;
    if (node->is_folder != is_folder) return refuse(is_folder ? ENOTDIR : EISDIR);
    find(path.parent_path())->names.erase(name_of(path));
    return 0;
  }
  static void empty(Node& node) {
    for (const auto& [name, child] : node.names) empty(*child);
    node.names.clear();
  }
  static void list(const Node& node, const std::string& name, std::map<std::string, std::string>& all) {
    if (!node.is_folder) all[name] = node.bytes;
    if (node.is_folder) all[name + "/"] = "";
    for (const auto& [child, below] : node.names) list(*below, name + "/" + child, all);
  }

  // All nodes that ever existed. The root is the first.
  std::vector<NodePtr> nodes_{std::make_shared<Node>()};
  std::vector<OpenFile> open_;
};

}  // namespace plimsoll
