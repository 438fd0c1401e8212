//! Names of flags, commands and values in other programs, and their names here.
//!
//! The table also serves the Python functions, whose keywords are flags.

/// Names from PyTorch, DGL, PyG, Lightning, Weights & Biases and others, without leading dashes, and a tip.
pub(in crate::cli) type Guess = (&'static str, &'static str);

pub(in crate::cli) const TRAINING: &[Guess] = &[
    // The graph.
    (
        "data dataset data-dir data-path graph graph-json input part-config",
        "use --part-json FILE; `sar-single partition` makes it from your files",
    ),
    (
        "num-parts num-partitions n-parts nparts k",
        "cut the graph again: sar-single partition --part-json FILE --num-parts N",
    ),
    ("label labels target y", "use --label-key KEY"),
    ("feat feats feature features x", "use --features-key KEY"),
    ("train-mask train-idx", "use --train-mask-key KEY"),
    ("val-mask valid-mask val-idx", "use --val-mask-key KEY"),
    ("test-mask test-idx", "use --test-mask-key KEY"),
    ("edge-weight edge-weights", "use --edge-weight-key KEY"),
    ("edge-attr edge-features edge-feat", "use --edge-features-key KEY"),
    (
        "train-split train-ratio train-size",
        "`sar-single partition` makes masks: --split random:0.8,0.1,0.1",
    ),
    (
        "num-classes in-feats out-feats in-channels out-channels num-features",
        "leave it out: the value is read from the graph",
    ),
    ("edges node-table", "to train on your files: sar-single train EDGES --node-table FILE"),
    // The model.
    ("gnn gnn-type arch architecture layer-type conv", "use --model NAME"),
    ("num-layers n-layers depth", "use --layers N"),
    (
        "hidden-channels hidden-dim hidden-size hidden-feats num-hidden n-hidden width",
        "use --hidden N",
    ),
    ("num-heads n-heads", "use --heads N"),
    ("dropout-rate feat-drop drop", "use --dropout P"),
    ("attn-drop attn-dropout", "use --attention-dropout P"),
    ("aggr aggregation aggregator-type", "use --aggregator HOW"),
    ("num-bases n-bases", "use --bases N"),
    ("num-blocks", "use --blocks N"),
    ("skip skip-connections", "use --residual"),
    ("batch-norm batchnorm bn", "use --norm batch"),
    ("layer-norm layernorm", "use --norm layer"),
    ("jumping-knowledge", "use --jk HOW"),
    ("pretrained weights load-weights init-weights", "use --init-params FILE"),
    ("ntype target-ntype target-node-type category", "use --target-type TYPE"),
    ("etype target-edge-type", "use --target-etype TYPE"),
    // Training.
    ("learning-rate learn-rate initial-lr base-lr", "use --lr RATE"),
    ("num-epochs n-epochs max-epochs num-train-epochs", "use --epochs N"),
    ("wd l2 l2-reg", "use --weight-decay RATE"),
    ("optim", "use --optimizer NAME"),
    ("momentum", "leave it out, or use --optimizer adam: sgd has no momentum here"),
    ("scheduler lr-scheduler lr-schedule", "use --schedule NAME"),
    // Names with `lr-` were flags of this program.
    ("step-size lr-step-size", "use --schedule step,step_size=N"),
    ("gamma lr-gamma lr-decay", "use --schedule step,step_size=N,gamma=F"),
    ("t-max lr-t-max", "use --schedule cosine,t_max=N"),
    ("eta-min min-lr lr-min", "use --schedule cosine,min=RATE or plateau,min=RATE"),
    ("lr-factor", "use --schedule plateau,factor=F"),
    ("lr-patience", "use --schedule plateau,patience=N"),
    ("early-stopping early-stop early-stopping-patience", "use --patience N, in epochs"),
    ("grad-clip gradient-clip-val clip-grad-norm max-grad-norm", "use --clip-norm NORM"),
    ("loss criterion loss-fn", "use --task TASK, which has its loss"),
    ("metric monitor", "leave it out: --task determines the validation metric"),
    (
        "eval eval-interval eval-steps evaluate-every val-every check-val-every-n-epoch",
        "use --eval-every N",
    ),
    ("random-seed manual-seed seed-everything", "use --seed N"),
    ("class-weight", "use --class-weights balanced"),
    // Samples.
    ("num-neighbors num-neighbours fan-out fanout sizes", "use --mode sample --fanouts N,N,..."),
    ("batch bs train-batch-size", "use --mode sample --batch-size N"),
    ("sampling sample mini-batch minibatch", "use --mode sample"),
    ("num-workers workers", "use --mode sample --sampler-threads N; each partition has a worker"),
    (
        "shuffle drop-last pin-memory persistent-workers prefetch-factor",
        "leave it out: batches are drawn again in every epoch",
    ),
    // Links.
    (
        "num-negs num-negatives neg-ratio neg-sampling-ratio num-neg-samples",
        "use --negatives K, with --task link",
    ),
    ("decoder predictor", "use --score dot, bilinear, distmult or complex, with --task link"),
    ("val-ratio num-val val-fraction", "use --split val=SHARE, with --task link"),
    ("test-ratio num-test test-fraction", "use --split test=SHARE, with --task link"),
    // The machine.
    (
        "device devices gpu gpus num-gpus use-gpu cuda accelerator",
        "leave it out: sar-single computes on the CPU only, on --threads N cores",
    ),
    (
        "precision amp fp16 bf16 half mixed-precision dtype",
        "use --compute-dtype bf16, or --spill-dtype bf16 for rows on disk only",
    ),
    ("num-threads nthreads n-jobs jobs cpus", "use --threads N"),
    ("memory mem max-memory mem-limit memory-limit ram", "use --memory-budget SIZE, such as 3GiB"),
    ("tmp tmpdir tmp-dir temp-dir scratch cache-dir", "use --spill-dir DIR"),
    (
        "rank local-rank strategy ddp nproc-per-node master-addr ip-config",
        "leave it out: each partition has a worker; mpirun starts other machines",
    ),
    // Results.
    ("output output-dir save-dir log-dir logdir default-root-dir run-dir", "use --out DIR"),
    ("force", "use --overwrite"),
    ("save-every save-interval save-steps every-n-epochs checkpoint", "use --checkpoint-every N"),
    (
        "resume-from-checkpoint ckpt-path ckpt checkpoint-path restore load",
        "use --resume RUN, the run's folder",
    ),
    (
        "wandb wandb-project logger log-to tb",
        "use --tensorboard DIR, or metrics.jsonl in the run's folder",
    ),
    (
        "log-interval log-steps log-every-n-steps print-every",
        "use --mode sample --log-every N; every epoch has a line",
    ),
    ("profile profiler", "use --trace FILE"),
    ("dry-run", "use `sar-single plan` with the same flags"),
];

/// Flags of `partition` and of training that `train` lacks, or names differently.
pub(in crate::cli) const FILES: &[Guess] = &[
    (
        "edges input graph file edge-list edgelist edge-index edge-file data dataset data-dir data-path",
        "name the files without a flag: sar-single train edges.csv",
    ),
    (
        "part-json resume",
        "without `train`: sar-single --part-json FILE, or sar-single --resume RUN",
    ),
    (
        "ogb chunked npz method assignment balance-ntypes node-order part-method graph-name name",
        "cut the graph with `sar-single partition`, and train with --part-json",
    ),
    ("memory mem max-memory ram", "use --memory-budget SIZE, such as 3GiB"),
    ("force", "use --overwrite"),
];

pub(in crate::cli) const PARTITION: &[Guess] = &[
    ("num-partitions n-parts nparts parts k num-clusters", "use --num-parts N"),
    ("input graph file edge-list edgelist edge-index edge-file", "use --edges FILE"),
    ("nodes node-file node-csv node-features", "use --node-table FILE, or --node-data NAME=FILE"),
    ("features feat x", "use --node-data feat=FILE, or --node-table FILE"),
    ("labels y target", "use --label COLUMN, or --node-data label=FILE"),
    ("masks train-mask val-mask test-mask train-idx", "use --split train=FILE, or --split COLUMN"),
    ("part-method partition-method algorithm", "use --method METHOD"),
    (
        "bidirected to-bidirected to-undirected symmetric add-reverse",
        "use --undirected, or --reverse-edges",
    ),
    ("directed", "leave it out: edges are directed unless --undirected is given"),
    ("add-self-loop add-self-loops self-loop", "use --self-loops add"),
    ("remove-self-loops remove-self-loop", "use --self-loops remove"),
    ("coalesce remove-duplicates unique", "use --dedup"),
    ("sep delimiter", "use --separator CHAR"),
    ("src src-col source", "use --source-column NAME"),
    ("dst dst-col dest destination", "use --target-column NAME"),
    ("etype rel relation edge-type", "use --relation-column NAME"),
    ("weight edge-weight edge-attr", "use --edge-columns NAME, or --edge-data NAME=FILE"),
    ("id-col node-id", "use --id COLUMN"),
    ("output output-dir out-path out-dir", "use --out DIR"),
    ("graph-name", "use --name NAME"),
    ("dataset", "use --ogb DIR, for a data set of the Open Graph Benchmark"),
    (
        "balance-train balance-edges",
        "leave it out: training nodes and edges are balanced in any case",
    ),
    ("mem max-memory ram", "use --memory SIZE"),
    ("force overwrite", "leave it out: pass a folder that is new or empty"),
];

pub(in crate::cli) const PREDICTION: &[Guess] = &[
    ("checkpoint ckpt ckpt-path model-path", "use --run RUN, or --weights FILE next to it"),
    ("model load folder", "use --run RUN, the run's folder"),
    ("data graph dataset", "use --part-json FILE"),
    ("output-file output-path save", "use --out FILE"),
    ("proba probs softmax", "use --output probabilities"),
    ("embedding embeddings embed", "use --output embeddings"),
    ("k topk", "use --top-k K"),
    ("edges links edge-index", "use --pairs FILE"),
    ("mask", "use --split val or --split test"),
    ("batch-size fanouts", "leave it out: predictions are on the full graph"),
    ("force", "use --overwrite"),
];

/// Letters, and the flags that they stand for where a command has them.
pub(in crate::cli) const LETTERS: [(&str, &str); 10] = [
    ("o", "out"),
    ("e", "epochs"),
    ("j", "threads"),
    ("t", "threads"),
    ("q", "quiet"),
    ("v", "verbose"),
    ("f", "overwrite"),
    ("m", "model"),
    ("n", "num-parts"),
    ("k", "num-parts"),
];

pub(in crate::cli) const COMMANDS: &[Guess] = &[
    ("run fit", "to train: sar-single --part-json FILE, or sar-single train EDGES"),
    (
        "import convert load build prepare preprocess cut split metis",
        "use `sar-single partition`, which takes files of edges and of nodes",
    ),
    ("resume restart", "use sar-single --resume RUN"),
    (
        "stop kill cancel",
        "press Ctrl-C in its terminal, or kill the process that `status RUN` names",
    ),
    (
        "evaluate eval test validate score",
        "use `sar-single predict --run RUN --split test`, which shows scores",
    ),
    ("infer inference", "use `sar-single predict`"),
    ("embed embeddings", "use `sar-single predict --output embeddings`"),
    ("info show describe stats summary", "use `sar-single inspect`"),
    ("monitor watch top ps list ls", "use `sar-single status --all`"),
    ("plot dashboard view tensorboard", "use `sar-single report RUN`"),
    ("estimate dry-run", "use `sar-single plan` with the flags of the run"),
    ("init new demo example sample", "use `sar-single generate`"),
    ("unpause", "use `sar-single continue`"),
    ("cleanup gc prune", "use `sar-single clean`"),
    ("version", "use sar-single --version"),
];

/// Values, in lower case and without punctuation.
pub(in crate::cli) const VALUES: &[Guess] = &[
    ("graphsage sageconv", "use sage"),
    ("gcnconv graphconv", "use gcn"),
    ("gatconv", "use gat"),
    ("gatv2conv", "use gatv2"),
    ("egatconv", "use egat"),
    ("ginconv", "use gin"),
    ("rgcnconv relgraphconv", "use rgcn"),
    ("tagconv tagcn", "use tag"),
    ("gcnii gcn2conv", "use gcn2"),
    ("appnpconv", "use appnp"),
    ("sgconv", "use sgc"),
    ("nodeclassification node multiclass binary", "use classification"),
    ("linkprediction linkpred edge", "use link"),
    ("bfloat16 fp16 half", "use bf16"),
    ("float32 fp32 float", "use f32"),
    ("batchnorm batchnorm1d bn", "use batch"),
    ("layernorm ln", "use layer"),
    ("steplr", "use step"),
    ("cosineannealinglr cosineannealing", "use cosine"),
    ("reducelronplateau", "use plateau"),
    ("sampling minibatch neighborsampling", "use sample"),
    ("fullbatch fullgraph", "use full"),
    ("parmetis", "use metis"),
    ("concat", "use cat"),
];
