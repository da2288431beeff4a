"""Checks templates by the schemas of Kubernetes, and what no schema says: templates.py FILE..."""

import re
import sys

import kubernetes_validate
import yaml

# The oldest release with volumes of a claim's kind checked here, and the newest one that is known.
RELEASES = ["1.29", "1.37"]
NEWEST = RELEASES[-1:]


def pod_of(document):
    """The pod that a document makes, if it makes any."""
    if document["kind"] == "Pod":
        return document["spec"]
    if document["kind"] == "PyTorchJob":
        return document["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    return document["spec"].get("template", {}).get("spec")


def by_schema(document, pod):
    """A document of a kind that is not Kubernetes' own is checked for its pod alone."""
    if document["kind"] == "PyTorchJob":
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": document["metadata"], "spec": pod}
    has_image = any("image" in volume for volume in (pod or {}).get("volumes", []))
    for release in NEWEST if has_image else RELEASES:
        try:
            kubernetes_validate.validate(document, release, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"Kubernetes {release}: {error.message}"


def without_privileges(pod):
    """What the Pod Security Standard "restricted" asks for, but for users and volumes."""
    if pod.get("hostNetwork") or pod.get("hostPID") or pod.get("hostIPC"):
        yield "the pod uses namespaces of the host"
    if pod["securityContext"].get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "the pod has no seccomp profile"
    for container in pod["containers"] + pod.get("initContainers", []):
        context = container["securityContext"]
        if context.get("privileged") or context["allowPrivilegeEscalation"] is not False:
            yield f"{container['name']} may get privileges"
        if context["capabilities"] != {"drop": ["ALL"]}:
            yield f"{container['name']} drops not all capabilities"


def restricted(pod):
    """The rest of what it asks for."""
    if pod["securityContext"].get("runAsNonRoot") is not True:
        yield "the pod may run as root"
    for volume in pod["volumes"]:
        if not {"emptyDir", "image"} & set(volume):
            yield f"volume {volume['name']} is of a kind that is forbidden"


def plugin(pod):
    """The container with the plugin: what its variables name is there."""
    [container] = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
    shm = mounts.get("/dev/shm", {}).get("emptyDir", {})
    if shm.get("medium") != "Memory":
        yield "/dev/shm is not in memory"
    known, values = set(), {}
    for variable in container["env"]:
        for name in re.findall(r"\$\((\w+)\)", variable.get("value", "")):
            if name not in known:
                yield f"{variable['name']} uses {name}, which is not set before it"
        known.add(variable["name"])
        values[variable["name"]] = variable.get("value")
    # the image has it as /plugin/libnccl_profiler.so
    source = mounts.get("/opt/scorep-nccl", {})
    if values["NCCL_PROFILER_PLUGIN"] != "/opt/scorep-nccl/plugin/libnccl_profiler.so" or not source:
        yield "NCCL_PROFILER_PLUGIN names no file of a volume"
    if "emptyDir" in source:
        init = pod["initContainers"][0]
        if init["command"] != ["cp", "-r", "/plugin", "/opt/scorep-nccl/"]:
            yield "the plugin is not copied"
        if [mount["mountPath"] for mount in init["volumeMounts"]] != ["/opt/scorep-nccl"]:
            yield "the plugin is copied elsewhere"
    directory = values.get("NCCL_SCOREP_PROM_DIR")
    if directory and "hostPath" not in mounts.get(directory, {}):
        yield "NCCL_SCOREP_PROM_DIR is no directory of the host"
    status = values.get("NCCL_SCOREP_STATUS")
    if status is None and (directory is None) == (values.get("NCCL_SCOREP_OTEL") != "on"):
        yield "metrics go nowhere, or twice"
    if status:
        yield from watch(pod, status, mounts.get(status))


def watch(pod, status, volume):
    """A native sidecar that sees the training's files and processes."""
    sidecars = [init for init in pod["initContainers"] if init.get("restartPolicy") == "Always"]
    if [sidecar["command"][:3] for sidecar in sidecars] != [["scorep-nccl", "watch", status]]:
        yield "no sidecar watches NCCL_SCOREP_STATUS"
        return
    seen = {mount["mountPath"]: mount for mount in sidecars[0]["volumeMounts"]}.get(status, {})
    if not volume or seen.get("name") != volume["name"] or seen.get("readOnly") is not True:
        yield "the sidecar does not see the training's volume, or may write to it"
    if pod.get("shareProcessNamespace") is not True:
        yield "the sidecar takes the training's processes for dead"
    own = [container["securityContext"].get("runAsUser") for container in pod["containers"] + sidecars]
    if any(user is not None for user in own):
        yield "the sidecar may be another user than the training"


def faults(path):
    with open(path) as file:
        documents = list(yaml.safe_load_all(file))
    for document in documents:
        pod = pod_of(document)
        found = list(by_schema(document, pod))
        if pod and not found:
            found += without_privileges(pod)
            if "hostPath" not in str(pod):
                found += restricted(pod)
            if document["kind"] != "DaemonSet":
                found += plugin(pod)
        for fault in found:
            yield f"{path}, {document['kind']}: {fault}"


found = [fault for path in sys.argv[1:] for fault in faults(path)]
sys.exit("\n".join(found) or 0)
