# cargo: finds it, and holds the arguments of every call of it.
#   CARGO             the program
#   cargo_call        the command line up to cargo's subcommand
#   cargo_options     options of every subcommand
#   cargo_features    options that say what the library has
#   cargo_target      cargo's target directory

find_program(CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "Rust's cargo")
if(NOT CARGO)
  message(FATAL_ERROR "cargo is not found: install Rust ${cargo_rust-version} or later, or name it with -DCARGO=FILE")
endif()

execute_process(COMMAND "${CARGO}" --version OUTPUT_VARIABLE said ERROR_VARIABLE complaint)
if(NOT said MATCHES "^cargo ([0-9.]+)")
  string(STRIP "${complaint}" complaint)
  message(FATAL_ERROR "${CARGO} does not run (${complaint}): name another one with -DCARGO=FILE")
elseif(CMAKE_MATCH_1 VERSION_LESS cargo_rust-version)
  message(FATAL_ERROR "${CARGO} is ${CMAKE_MATCH_1}, but Rust ${cargo_rust-version} or later is needed: name another one with -DCARGO=FILE")
endif()

# what is there already is used again where the environment says so
set(cargo_target "$ENV{CARGO_TARGET_DIR}")
if(NOT cargo_target)
  set(cargo_target "${CMAKE_BINARY_DIR}/target")
endif()
set(CARGO_TARGET_DIR "${cargo_target}" CACHE PATH "cargo's target directory")
file(REAL_PATH "${CARGO_TARGET_DIR}" cargo_target)

# one place, whatever links it was reached through: cargo would build anew for another one
file(REAL_PATH "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml" cargo_manifest)
set(cargo_options --locked --manifest-path "${cargo_manifest}")
if(SCOREP_NCCL_VENDOR_DIR)
  file(REAL_PATH "${SCOREP_NCCL_VENDOR_DIR}" vendored)
  if(NOT IS_DIRECTORY "${vendored}")
    message(FATAL_ERROR "SCOREP_NCCL_VENDOR_DIR: there is no directory ${vendored}; `cargo vendor ${vendored}` makes it where there is a network")
  endif()
  list(APPEND cargo_options --offline
    --config "source.crates-io.replace-with=\"vendored\"" --config "source.vendored.directory=\"${vendored}\"")
endif()

set(cargo_features "")
if(SCOREP_NCCL_OTEL)
  set(cargo_features --features otel)
endif()

# for this machine, in the directory that is looked into afterwards
set(cargo_call "${CMAKE_COMMAND}" -E env --unset=CARGO_BUILD_TARGET)
