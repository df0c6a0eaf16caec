#pragma once

#include <chrono>
#include <cstddef>

/// Every limit on what a client, or Lisp code, can make the server hold, with its reason. A test
/// reaches each of them.
namespace clmcp::limits {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

/// One message from a client. A whole source file fits many times over; beyond it lies a mistake.
constexpr std::size_t kMessageBytes = 16 * kMiB;

/// Nesting of JSON in a message. MCP needs a handful; a parser's stack must not be the limit.
constexpr std::size_t kJsonDepth = 64;

/// Messages in one batch of revision 2025-03-26.
constexpr std::size_t kBatchMessages = 1000;

/// Replies that wait for the client to read them. Beyond it we stop reading its requests, and it
/// hears no more of the progress of those that run.
constexpr std::size_t kUnreadReplyBytes = 16 * kMiB;

/// One frame to or from a worker: AGENT-PROTOCOL.md promises it. A message and its escapes fit.
constexpr std::size_t kFrameBytes = 64 * kMiB;

/// Nesting of a form from a worker; the protocol itself needs four.
constexpr std::size_t kFormDepth = 32;

/// Characters of one reply. A model reads it all, and clients refuse or cut what is much longer.
/// Below the least there is no room for the notes on what was left out; the most fits into
/// kUnreadReplyBytes, whatever the characters.
constexpr std::size_t kReplyCharacters = 32'000;
constexpr std::size_t kLeastReplyCharacters = 1'000;
constexpr std::size_t kMostReplyCharacters = 4'000'000;

/// What is kept of each stream of one call: half of it from the beginning, half from the end. It
/// lies on disk, so this is what a temporary directory can be asked for.
constexpr std::size_t kKeptOutputBytes = 64 * kMiB;

/// What of it is held in memory before it goes to disk; nearly all that is ever written fits.
constexpr std::size_t kOutputInMemoryBytes = 256 * kKiB;

/// Calls of a session whose output is kept.
constexpr std::size_t kCallsWithOutput = 16;

/// A longer line counts as several, so that a gigabyte without a newline can be read in pieces.
constexpr std::size_t kOutputLineBytes = 2'000;

/// Finished jobs of a session whose answers nobody has read yet.
constexpr std::size_t kUnreadJobs = 100;

/// Calls that wait for one session.
constexpr std::size_t kQueuedCalls = 10'000;

/// The journal of one session. Some ten thousand evaluations with their outcomes fit; beyond it the
/// journal is compacted, which reads all of it into memory.
constexpr std::size_t kJournalBytes = 16 * kMiB;

/// Journals of earlier lives of a session that are kept beside the one in use.
constexpr int kOldJournals = 5;

/// What a reply said, as a journal keeps it: enough to recognize the call.
constexpr std::size_t kJournalOutcomeBytes = 2000;

/// Sessions that are open. Each is a process of its own; an idle one takes a few MB.
constexpr std::size_t kSessions = 100;

/// A session's name, which goes into file names.
constexpr std::size_t kNameBytes = 64;

/// Calls that can be undone. Each costs a frozen process of some MB, and more as the heap
/// changes.
constexpr std::size_t kUndoDepth = 10;

/// Named checkpoints of one session.
constexpr std::size_t kNamedCheckpoints = 20;

/// Memory of all checkpoints together, where the command line does not say. Beyond it the oldest
/// ones that can be spared go.
constexpr std::size_t kCheckpointMemory = 2048 * kMiB;

/// Calls without a checkpoint behind them (threads were running) whose definitions are remembered.
constexpr std::size_t kUnsafeSteps = 1000;

/// A definition that is done again by itself, each on its own: one limit for all of them would lose
/// just the sessions that are worth most.
constexpr std::chrono::seconds kReplayStep{30};

/// Without a call for this long, there is time to get ready for a reset.
constexpr std::chrono::milliseconds kQuiet{1000};

/// From a checkpoint to the look at the memory of all.
constexpr std::chrono::milliseconds kTrimming{1000};

/// Between two progress notifications for one call.
constexpr std::chrono::milliseconds kProgressPause{300};

/// How long a reply is waited for by default: below the 60 s after which clients give up.
constexpr std::chrono::seconds kWait{50};

/// From the start of the worker image to its first word. It takes some 10 ms; a machine deep in
/// swap gets a thousand times that.
constexpr std::chrono::seconds kWorkerStart{10};

/// From the end of a call to the checkpoint behind it. It takes some 2 ms, and some seconds where a
/// gigabyte of garbage is collected first; a worker that was stopped just then must not hold the
/// next call for ever.
constexpr std::chrono::seconds kCheckpoint{10};

/// The heap of each Lisp: a part of the machine's memory, so that one that runs wild leaves room
/// for the others and for the machine; SBCL's own default of 1 GB or 8 GB fits few. Below the least
/// larger libraries cannot be compiled, and above the most a garbage collection takes seconds.
constexpr std::size_t kHeapPartOfMemory = 4;
constexpr std::size_t kLeastHeapMegabytes = 512;
constexpr std::size_t kMostHeapMegabytes = 4096;

/// Heap in use up to which checkpoints are made. A frozen copy keeps every page that its worker
/// changes from then on, so each may take as much memory again.
constexpr std::size_t kCheckpointHeapMegabytes = 1024;

/// Making an image for another SBCL takes a few seconds, once.
constexpr std::chrono::seconds kImageBuild{300};

/// From an interrupt to the moment the worker is killed because it did not stop.
constexpr std::chrono::seconds kInterruptGrace{5};

/// From the end of input to the exit while calls are still running.
constexpr std::chrono::seconds kExitGrace{10};

}  // namespace clmcp::limits
