#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::executor {

/// Bytes taken from a socket at once. They fit into a core's second-level cache beside what they are reduced with.
inline constexpr int64_t kPieceBytes = 1 << 18;

/// Memory of a mesh's calls, one after another: kept from call to call up to a bound, because the pages of new memory
/// cost more than what is done with them. Nothing is initialized.
/// A fresh 64 MiB would be 16,384 page faults a call.
class Workspace {
 public:
  using Piece = std::unique_ptr<std::byte[]>;

  /// The time of one call, at whose end everything that `take` gave is free again; what is more than the bound is
  /// freed.
  class Lease {
   public:
    explicit Lease(Workspace& workspace) : workspace_(workspace) {}
    ~Lease() { workspace_.end(); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

   private:
    Workspace& workspace_;
  };

  /// Memory until the end of the call.
  std::byte* take(int64_t bytes);

  /// kPieceBytes that the caller owns, and gives back.
  Piece take_piece();
  void give_piece(Piece piece) { pieces_.push_back(std::move(piece)); }

 private:
  void end();

  struct Slab {
    int64_t bytes = 0;
    std::unique_ptr<std::byte[]> data;
  };

  std::vector<Slab> slabs_;  ///< the n-th of a call is the n-th of the next one
  size_t taken_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace hocket::executor
