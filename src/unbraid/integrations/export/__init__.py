"""Models as files that other programs read, and encoders of other programs read from theirs."""

from unbraid.integrations.export.model_files import ExportedFile as ExportedFile
from unbraid.integrations.export.model_files import export_onnx as export_onnx
from unbraid.integrations.export.model_files import export_torch as export_torch
from unbraid.integrations.export.onnx_encoder import OnnxEncoder as OnnxEncoder
