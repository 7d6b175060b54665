import torch

from elasticrec.evaluation.arithmetic import full_precision, single_thread


def test_full_precision_gives_the_former_setting_back():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    with full_precision():
        assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision(before)


def test_single_thread_gives_the_former_number_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
