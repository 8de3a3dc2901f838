"""The layer for PyTorch against enumeration, against `tagger.chain`, and its gradients against forward–backward."""

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch", reason="the layer needs PyTorch: pip install torch")

from tagger import chain  # noqa: E402
from tagger.neural import CRF  # noqa: E402

LENGTHS = [3, 1, 0, 4]
T, K = 5, 3


def random_layer(seed=0, dtype=torch.float64, lengths=LENGTHS):
    """A layer, emissions with nan behind the ends, tags with nonsense there, lengths."""
    random = torch.Generator().manual_seed(seed)
    crf = CRF(K).to(dtype)
    with torch.no_grad():
        for scores in crf.parameters():
            scores.copy_(torch.randn(scores.shape, generator=random))
    E = torch.randn(len(lengths), T, K, generator=random, dtype=dtype)
    tags = torch.randint(0, K, (len(lengths), T), generator=random)
    for b, length in enumerate(lengths):
        E[b, length:] = torch.nan
        tags[b, length:] = -100
    return crf, E.requires_grad_(), tags, torch.tensor(lengths)


def as_arrays(crf, E):
    return {name: scores.detach().numpy() for name, scores in (("emissions", E), *crf.named_parameters())}


def enumerated(crf, E):
    scores = as_arrays(crf, E)
    ends = [scores[name].tolist() for name in ("start", "transitions", "end")]
    return [oracle.paths(*ends, scores["emissions"][b, :n].tolist()) for b, n in enumerate(LENGTHS)]


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_the_layer_equals_enumeration(dtype, tolerance):
    crf, E, tags, lengths = random_layer(1, dtype)
    norms, likelihoods = crf.log_partition(E, lengths).tolist(), crf(E, tags, lengths).tolist()
    scores, P = crf.sequence_score(E, tags, lengths).tolist(), crf.marginals(E, lengths).detach()
    best, best_scores = crf.decode(E, lengths)
    for b, (length, every) in enumerate(zip(LENGTHS, enumerated(crf, E), strict=True)):
        own = {path: score for score, path in every}
        assert norms[b] == pytest.approx(oracle.log_z(every), abs=tolerance)
        assert scores[b] == pytest.approx(own[tuple(tags[b, :length].tolist())], abs=tolerance)
        assert likelihoods[b] == pytest.approx(scores[b] - norms[b], abs=tolerance)
        if length:
            np.testing.assert_allclose(P[b, :length], oracle.node_marginals(every, K), atol=tolerance)
        assert not P[b, length:].any() and (best[b, length:] == -1).all()
        assert own[tuple(best[b, :length].tolist())] == pytest.approx(every[0][0], abs=tolerance)
        assert best_scores[b].item() == pytest.approx(every[0][0], abs=tolerance)
        found = crf.n_best(E, 4, lengths)[b]
        assert [score for score, _ in found] == pytest.approx([score for score, _ in every[:4]], abs=tolerance)
    assert likelihoods[2] == norms[2] == scores[2] == 0.0


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_the_layer_equals_the_chain_of_numpy(dtype, tolerance):
    lengths = [40, 7, 1, 0, 23]
    torch.manual_seed(3)
    crf, E = CRF(9).to(dtype), torch.randn(5, 41, 9, dtype=dtype)
    tags, own = torch.randint(0, 9, (5, 41)), torch.tensor(lengths)
    scores = as_arrays(crf, E)
    for theirs, ours in (
        (crf.log_partition(E, own), chain.log_norm(**scores, lengths=lengths)),
        (crf.sequence_score(E, tags, own), chain.sequence_score(tags=tags.numpy(), **scores, lengths=lengths)),
        (crf.log_likelihood(E, tags, own), chain.log_likelihood(tags=tags.numpy(), **scores, lengths=lengths)),
        (crf.marginals(E, own), chain.marginals(**scores, lengths=lengths)),
    ):
        np.testing.assert_allclose(theirs.detach().numpy(), ours, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_autograd_equals_forward_backward(dtype, tolerance):
    crf, E, tags, lengths = random_layer(4, dtype)
    crf(E, tags, lengths).sum().backward()
    inside = np.arange(T) < np.array(LENGTHS)[:, None]
    safe = np.where(inside, tags.numpy(), 0)
    _, gradient = chain.log_likelihood_gradient(tags=safe, **as_arrays(crf, E), lengths=LENGTHS)
    np.testing.assert_allclose(E.grad.numpy(), gradient.emissions, atol=tolerance)
    for name, scores in crf.named_parameters():
        np.testing.assert_allclose(scores.grad.numpy(), getattr(gradient, name), atol=tolerance, err_msg=name)


def test_loss_and_accuracy_count_no_padding():
    crf, E, tags, lengths = random_layer(10)
    likelihoods = crf.log_likelihood(E, tags, lengths)
    assert torch.equal(crf.loss(E, tags, lengths, reduction="none"), -likelihoods)
    assert crf.loss(E, tags, lengths).item() == pytest.approx(-likelihoods.sum().item() / 4)
    assert crf.loss(E, tags, lengths, reduction="sum").item() == pytest.approx(-likelihoods.sum().item())
    with pytest.raises(ValueError, match=r"reduction.*'total'"):
        crf.loss(E, tags, lengths, reduction="total")
    best, _ = crf.decode(E, lengths)
    assert crf.accuracy(E, best, lengths) == 1.0
    best[3, 0] = (best[3, 0] + 1) % K
    assert crf.accuracy(E, best, lengths) == pytest.approx(7 / 8)
    assert crf.accuracy(E, tags, mask=tags != -100) == crf.accuracy(E, tags, lengths)  # a label as padding
    assert np.isnan(crf.accuracy(E, tags, torch.zeros(4, dtype=torch.long)))


def test_a_mask_says_the_same_as_lengths():
    crf, E, tags, lengths = random_layer(5)
    mask = torch.arange(T) < lengths[:, None]
    assert torch.equal(crf(E, tags, mask=mask), crf(E, tags, lengths))
    assert torch.equal(crf.decode(E, mask=mask)[0], crf.decode(E, lengths)[0])
    whole = E.detach().nan_to_num()
    assert torch.equal(crf.log_partition(whole), crf.log_partition(whole, torch.full((4,), T)))


def test_what_is_forbidden_has_no_share_and_gradients_stay_finite():
    """B, I, O: after a forbidden start, some tags cannot be reached at the second token at all."""
    crf, E, tags, lengths = random_layer(6)
    with torch.no_grad():
        crf.start[1] = crf.start[0] = -torch.inf
        crf.transitions[2, 1] = -torch.inf
    P = crf.marginals(E, lengths)
    assert not P[:, :2, 1].any() and torch.isfinite(P).all()
    path = torch.where(tags < 0, -100, 2)
    crf(E, path, lengths).sum().backward()
    assert torch.isfinite(E.grad).all() and all(torch.isfinite(scores.grad).all() for scores in crf.parameters())
    assert (crf.decode(E, lengths)[0][:, 0] != 1).all()


def test_marginals_may_be_part_of_a_loss_and_need_no_gradient():
    crf, E, _, lengths = random_layer(7)
    crf.marginals(E, lengths)[0, 0, 0].backward()
    assert torch.isfinite(E.grad).all() and E.grad[0, 1].abs().sum() > 0
    with torch.no_grad():
        plain = crf.marginals(E.detach(), lengths)
    with torch.inference_mode():
        other = crf.marginals(E.detach(), lengths)
    assert not plain.requires_grad and torch.equal(plain, other)


def test_marginals_of_frozen_emissions_reach_the_parameters():
    crf, E, _, lengths = random_layer(8)
    crf.marginals(E.detach(), lengths)[0, 0, 0].backward()
    frozen = {name: scores.grad.clone() for name, scores in crf.named_parameters()}
    crf.zero_grad()
    crf.marginals(E, lengths)[0, 0, 0].backward()
    for name, scores in crf.named_parameters():
        assert frozen[name].abs().sum() > 0
        torch.testing.assert_close(frozen[name], scores.grad)
    with torch.no_grad():
        assert not crf.marginals(E, lengths).requires_grad
    assert crf.marginals(E[:, :0]).shape == (4, 0, K)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layer", [torch.float32, torch.bfloat16])
def test_emissions_of_16_bits(dtype, layer):
    """Everything is as precise as with the same numbers in float32: sums of 16 bits would be far off."""
    torch.manual_seed(9)
    crf, E = CRF(K).to(layer), (10 * torch.randn(3, 200, K)).to(dtype)
    wide, tags = CRF(K), torch.randint(0, K, (3, 200))
    wide.load_state_dict({name: scores.float() for name, scores in crf.state_dict().items()})
    (paths, scores), (same, expected) = crf.decode(E), wide.decode(E.float())
    assert torch.equal(paths, same) and torch.equal(scores, expected) and scores.dtype == torch.float32
    assert crf.n_best(E, 2) == wide.n_best(E.float(), 2)
    for function in ("log_partition", "marginals"):
        torch.testing.assert_close(getattr(crf, function)(E), getattr(wide, function)(E.float()))
    torch.testing.assert_close(crf(E, tags), wide(E.float(), tags))


def test_it_learns_in_somebody_elses_network():
    torch.manual_seed(1)
    network, crf = torch.nn.Embedding(4, 2), CRF(2)
    words, tags = torch.tensor([[0, 1, 2], [3, 1, 0]]), torch.tensor([[0, 1, 0], [1, 0, 1]])
    adam = torch.optim.Adam([*network.parameters(), *crf.parameters()], lr=0.1)
    losses = []
    for _ in range(50):
        adam.zero_grad()
        loss = -crf(network(words), tags).mean()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0] and torch.equal(crf.decode(network(words))[0], tags)


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"emissions": torch.zeros(4, T, K + 1)}, r"emissions.* \(B, T, 3\)"),
        ({"lengths": torch.tensor([3, 1, 0, T + 1])}, "lengths.* 5"),
        ({"lengths": torch.tensor(LENGTHS), "mask": torch.ones(4, T)}, "lengths.*mask|mask.*lengths"),
        ({"mask": torch.tensor([[True, False, True, True, True]] * 4)}, "mask"),
        ({"mask": torch.ones(4, T + 1)}, "mask"),
        ({"tags": torch.zeros(4, T + 1)}, "tags"),
        ({"tags": torch.full((4, T), -1)}, r"tags.* 2 .* -1. .*mask=\(tags != -1\)"),
        ({"tags": torch.eye(K)[torch.zeros(4, T, dtype=torch.long)]}, r"one-hot .* Give tags.argmax\(-1\)"),
        ({"tags": torch.full((4, T), K)}, "tags.* 2"),
        ({"tags": torch.zeros(4, T)}, "tags.* 2"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, name):
    given = {"emissions": torch.zeros(4, T, K), "tags": torch.zeros(4, T, dtype=torch.long)} | arguments
    with pytest.raises(ValueError, match=name):
        CRF(K)(**given)
    with pytest.raises(ValueError):
        CRF(0)
