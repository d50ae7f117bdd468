#!/usr/bin/env python3
"""ONNX Runtime as one of the peers (peer.h): the contrib ops MultiHeadAttention and Attention, on all cores.

  attention B H S D [causal]  MultiHeadAttention, heads side by side in the last axis
  layer B S MODEL H           Attention (its projections merged) and the output projection, as its own optimizer writes them
"""
import numpy
import onnx
import onnxruntime
from conversation import converse
from onnx import TensorProto, helper


def tensor(name, shape, seed):
    values = numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.1)
    return helper.make_tensor(name, TensorProto.FLOAT, shape, values.tobytes(), raw=True)


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def attention(b, h, s, d, causal):
    shape = [b, s, h * d]
    node = helper.make_node('MultiHeadAttention', ['q', 'k', 'v'], ['y'], domain='com.microsoft', num_heads=h, unidirectional=int(causal))
    return helper.make_graph([node], 'attention', [value(name, shape) for name in 'qkv'], [value('y', shape)])


def layer(b, s, model, h):
    nodes = [
        helper.make_node('Attention', ['x', 'w', 'bias'], ['mixed'], domain='com.microsoft', num_heads=h),
        helper.make_node('MatMul', ['mixed', 'w_o'], ['out']),
        helper.make_node('Add', ['out', 'b_o'], ['y']),
    ]
    constants = [tensor('w', [model, 3 * model], 1), tensor('bias', [3 * model], 2), tensor('w_o', [model, model], 3), tensor('b_o', [model], 4)]
    return helper.make_graph(nodes, 'layer', [value('x', [b, s, model])], [value('y', [b, s, model])], constants)


class Work:
    def __init__(self, words):
        numbers = [int(word) for word in words[1:] if word != 'causal']
        graph = attention(*numbers, 'causal' in words) if words[0] == 'attention' else layer(*numbers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17), helper.make_opsetid('com.microsoft', 1)], ir_version=8)
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
        self.binding = self.session.io_binding()
        self.held = []
        for number, wanted in enumerate(self.session.get_inputs()):
            values = numpy.random.default_rng(number).standard_normal(wanted.shape, dtype=numpy.float32)
            self.held.append(onnxruntime.OrtValue.ortvalue_from_numpy(values))
            self.binding.bind_ortvalue_input(wanted.name, self.held[-1])
        shape = self.session.get_outputs()[0].shape
        self.held.append(onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, numpy.float32))
        self.binding.bind_ortvalue_output('y', self.held[-1])

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def facts(self):
        return f'version={onnxruntime.__version__}'


if __name__ == '__main__':
    converse(Work)
