#include "app/export.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/options.h"
#include "app/paths.h"
#include "base/error.h"
#include "base/result.h"
#include "session/journal.h"
#include "session/journal_files.h"
#include "session/journal_text.h"
#include "worker/worker.h"

namespace clmcp::app {
namespace {

namespace fs = std::filesystem;

ExitCode complain(ExitCode code, std::string_view sentence) {
  fmt::print(stderr, "cl-mcp-server: {}.\n", sentence);
  return code;
}

/// As Lisp reads a string.
std::string lisp_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + '"';
}

/// For a comment, where a line break would end it.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Loads one system as the agent does when it loads a session's systems again.
std::string load_form(const worker::SystemRef& system) {
  const std::string name = lisp_string(system.name);
  if (!system.definition) {
    return fmt::format("(require {})\n", lisp_string(upper_case(system.name)));
  }
  const std::string path = lisp_string(*system.definition);
  if (system.name == "quicklisp") {
    return fmt::format("(unless (find-package \"QUICKLISP-CLIENT\") (load {}))\n", path);
  }
  return fmt::format(
      "(unless (asdf:find-system {0} nil) (asdf:load-asd {1}))\n(asdf:load-system {0})\n", name,
      path);
}

/// Whether it does nothing but choose a package; the file says that in words of its own.
bool chooses_package(std::string_view definition) {
  const std::string text = upper_case(std::string(definition.substr(0, 32)));
  return text.starts_with("(IN-PACKAGE ") || text.starts_with("(CL:IN-PACKAGE ");
}

ExitCode write_to_standard_output(std::string_view text) {
  fmt::print("{}", text);
  return std::fflush(stdout) == 0
             ? ExitCode::kOk
             : complain(ExitCode::kOutput, system_error("Cannot write to standard output").message);
}

ExitCode write_to_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) {
    return complain(ExitCode::kOutput,
                    system_error(fmt::format("Cannot write {}", path.native())).message);
  }
  return ExitCode::kOk;
}

}  // namespace

std::string export_text(const session::History& history) {
  std::string text = fmt::format(
      ";;;; -*- mode: lisp; coding: utf-8 -*-\n"
      ";;;; The definitions of the session '{}' of {},\n"
      ";;;; as of {}; written by cl-mcp-server. Load it with: sbcl --load FILE\n",
      one_line(history.owner.session), one_line(history.owner.directory), history.time);
  if (!history.systems.empty()) {
    text += "\n(require \"ASDF\")\n";
  }
  for (const worker::SystemRef& system : history.systems) {
    text += load_form(system);
  }
  std::string package;
  for (const session::JournalEntry& entry : history.live) {
    for (const worker::Definition& definition : entry.definitions) {
      if (chooses_package(definition.text)) {
        continue;
      }
      if (definition.package != package) {
        package = definition.package;
        text += fmt::format("\n(cl:in-package {})\n", lisp_string(package));
      }
      text += fmt::format("\n{}\n", definition.text);
    }
  }
  return text;
}

ExitCode export_session(const Options& options, const Paths& paths) {
  std::error_code error;
  const session::JournalPlace place{.root = paths.journals, .directory = fs::current_path(error)};
  const Result<fs::path> path = session::find_journal(place, options.exported);
  if (!path) {
    return complain(ExitCode::kJournal, path.error().message);
  }
  const Result<session::History> history = session::read_journal(*path);
  if (!history) {
    return complain(ExitCode::kJournal, history.error().message);
  }
  if (path->parent_path() != place.folder()) {
    fmt::print(stderr, "cl-mcp-server: This is the journal of {}; this directory has none.\n",
               history->owner.directory);
  }
  if (history->remark) {
    fmt::print(stderr, "cl-mcp-server: {}\n", *history->remark);
  }
  const std::string text = export_text(*history);
  return options.export_to ? write_to_file(*options.export_to, text)
                           : write_to_standard_output(text);
}

}  // namespace clmcp::app
