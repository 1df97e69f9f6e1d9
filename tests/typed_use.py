"""What users write, for their type checker: pyright reads this file, nothing runs it."""

import jax.numpy as jnp
import numpy as np

import virial as vr


def runs(posterior: vr.Posterior) -> list[vr.Run]:
    """Every sampler with a preconditioner as the documentation allows it."""
    mode = posterior.mode()
    batch = vr.Minibatch(100)
    return [
        vr.sample(posterior, vr.SGLD(0.05, batch, preconditioner=mode.factor), 100),
        vr.sample(posterior, vr.Euler(0.05), 100),
        vr.sample(posterior, vr.ModifiedSGLD(0.05, batch, preconditioner=[1.0, 2.0]), 100),
        vr.sample(posterior, vr.CompensatedSGLD(0.05, batch, preconditioner=np.ones(3)), 100),
        vr.sample(posterior, vr.FisherScoring(0.05, batch, preconditioner=jnp.ones(3)), 100),
        vr.sample(posterior, vr.LeimkuhlerMatthews(vr.PolynomialDecay(0.1), batch), 100),
        vr.sample(posterior, vr.SGHMC(0.1, friction=1.0, gradient=batch), 100),
        vr.sample(posterior, vr.SGNHT(0.1, vr.ControlVariate(100), diffusion=1.0), 100),
        vr.sample(posterior, vr.BAOAB(0.1, 1.0, vr.SVRG(100, refresh_every=50)), 100),
        vr.sample(posterior, vr.UBU(0.1, 1.0, vr.Sweep(100, symmetric=True), mode.factor), 100),
        vr.sample(posterior, vr.MALA(0.1, np.eye(3)), 100),
        vr.sample(posterior, vr.RandomWalk(0.1), 100),
    ]


def answers(posterior: vr.Posterior) -> None:
    """Predict, plan, sample, audit."""
    print(vr.predict(posterior, vr.SGLD(0.05, vr.Minibatch(100)), num_steps=100))
    print(vr.conditions(posterior))
    run = vr.sample(posterior, vr.plan(posterior, rmse=0.05))
    print(run.summary(), run.corrected.sd)
    audit = vr.audit(run)
    print(audit.corrected)
