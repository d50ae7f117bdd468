#!/usr/bin/env bash
# What the user sees of each OpenCL call that fails: the exit code, and the error's name.  The stub driver is the only one.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/common.sh"

# fault CODE PATTERN FAULT: a run in which this call fails (stub_icd.h says how faults are written), with an empty cache.
fault() {
  rm -rf "${POLYHEAD_CACHE_DIR:?}"/*
  STUB_ICD_FAIL=$3 expect "$1" "$2" run "$CONFIGS/five_words.yaml" -d opencl --profile
}

fault 0 'a trial gives' none # its kernels do nothing
# Discovery: no such device, and the list of those there are.
fault 3 'there are: reference' clIcdGetPlatformIDsKHR
fault 3 'there are: reference' 'clGetPlatformInfo:*'
fault 3 'CL_OUT_OF_HOST_MEMORY in clGetDeviceIDs; there are: reference' 'clGetDeviceIDs:*'
fault 3 'CL_OUT_OF_HOST_MEMORY in clGetDeviceInfo; there are: reference' 'clGetDeviceInfo:*'
# Making a kernel: the next variant, if there is one.
while read -r call error; do
  fault 0 "passed over on .*$error" "$call"
  fault 4 "error: .*$error in $call" "$call:*"
done <<'END'
clCreateProgramWithSource CL_OUT_OF_HOST_MEMORY
clBuildProgram CL_BUILD_PROGRAM_FAILURE
clCreateKernel CL_INVALID_KERNEL_DEFINITION
clGetKernelWorkGroupInfo CL_OUT_OF_RESOURCES
END
# The cache on disk: a program that is not kept, or a miss.
fault 0 'not kept on disk: CL_OUT_OF_RESOURCES' clGetProgramInfo
fault 0 'a trial gives' none # its kernels do nothing
STUB_ICD_FAIL=clCreateProgramWithBinary expect 0 'made anew: CL_INVALID_BINARY' run "$CONFIGS/five_words.yaml" -d opencl
# A release: a line.
for call in clReleaseContext clReleaseCommandQueue clReleaseMemObject clReleaseProgram clReleaseKernel clReleaseEvent; do
  fault 0 "CL_OUT_OF_RESOURCES in $call" "$call"
done
# Everything else; once is not enough, for a trial that fails costs a variant alone.
while read -r call error; do
  fault 4 "error: .*$error in $call" "$call:*"
done <<'END'
clCreateContext CL_DEVICE_NOT_AVAILABLE
clCreateCommandQueue CL_OUT_OF_HOST_MEMORY
clCreateBuffer CL_MEM_OBJECT_ALLOCATION_FAILURE
clSetKernelArg CL_INVALID_ARG_SIZE
clEnqueueNDRangeKernel CL_OUT_OF_RESOURCES
clEnqueueReadBuffer CL_OUT_OF_RESOURCES
clEnqueueWriteBuffer CL_OUT_OF_RESOURCES
clFinish CL_OUT_OF_RESOURCES
clGetEventProfilingInfo CL_PROFILING_INFO_NOT_AVAILABLE
END

# R071: a kernel that does not compile is shown with everything that its author needs.
fault 4 "log in $POLYHEAD_CACHE_DIR/build-" 'clBuildProgram:*'
for part in 'Stub device' 'driver:.*1\.0' 'kernels: product\.cl' 'options: -cl-std=CL1\.2' 'the stub was told to fail'; do
  grep -q -- "$part" "$err" || fail "no '$part' about a kernel that does not compile"
done
# POLYHEAD_KERNEL_DIR is read in place of what is built in.
POLYHEAD_KERNEL_DIR=$scratch/nowhere expect 2 'nowhere/common\.cl' run "$CONFIGS/five_words.yaml" -d opencl
finish
