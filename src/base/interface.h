#pragma once

namespace clmcp {

/// The base of classes that are only interfaces: destroyed through them, never copied or moved.
class Interface {
 public:
  Interface() = default;
  virtual ~Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  Interface(Interface&&) = delete;
  Interface& operator=(Interface&&) = delete;
};

}  // namespace clmcp
