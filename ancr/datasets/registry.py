"""Facts about each data set: home page, files, checksums, licence, size and the expected folder tree."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One public file of a data set.

    Parameters
    ----------
    url : str
        Public address.
    file : str
        Path relative to the data home; an archive is unpacked into the folder of that path.
    known_hash : str or None
        ``"sha256:…"`` or ``"md5:…"`` in pooch's notation; None if no checksum is published.
    archive : bool
        Unpack after the download and delete the archive.
    """

    url: str
    file: str
    known_hash: str | None = None
    archive: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the registry.

    ``roots`` are the folders, relative to a data home, that may hold the set; ``markers`` are the files that such
    a folder must contain; ``tree`` shows its layout.
    """

    name: str
    title: str
    home_page: str
    licence: str
    citation: str
    description: str
    size: str
    tree: str
    roots: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    unavailable: str = ""

    @property
    def loader(self) -> str:
        """Name of its loader in `ancr.datasets`."""
        return f"load_{self.name}"

    @property
    def folder(self) -> str:
        """Folder of the set in a data home."""
        return self.roots[0].split("/")[0]

    @property
    def how_to_get(self) -> str:
        """One line that says how to get the data set."""
        if self.unavailable:
            return self.unavailable
        if not self.sources:
            return "Ships with scikit-learn: no download needed."
        return f"Download it with `ancr fetch {self.name}` ({self.size}), or manually from {self.home_page}"


_ENTRIES = (
    DatasetInfo(
        name="digits",
        title="Digits",
        home_page="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
        licence="CC BY 4.0 (UCI Machine Learning Repository)",
        citation="E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning "
        "Repository, 1998",
        description="1797 handwritten digits of 8 × 8 pixels: the UCI set's test part, not split.",
        size="ships with scikit-learn",
        tree="(inside scikit-learn)",
    ),
    DatasetInfo(
        name="ar",
        title="AR faces",
        home_page="https://github.com/yinhefeng/ANCR",
        licence="unknown for this file; the AR face database itself is for non-commercial research",
        citation="A. M. Martinez and R. Benavente, The AR Face Database, CVC Technical Report 24, 1998",
        description="100 people, 60 × 43 grey crops, expression and illumination changes only. The first "
        "session (700 images) is for training, the second (699) for testing, as ANCR's authors published it.",
        size="3.3 MB",
        tree="ar/\n  AR_DAT.mat",
        roots=("ar",),
        markers=("AR_DAT.mat",),
        sources=(
            Source(
                "https://raw.githubusercontent.com/yinhefeng/ANCR/HEAD/AR_DAT.mat",
                "ar/AR_DAT.mat",
                "sha256:0e6f2361c339b4d4c7315771c16f3b6e111e7aadc5bf95129d35a61524b8d676",
            ),
        ),
    ),
    DatasetInfo(
        name="usps",
        title="USPS digits",
        home_page="https://hastie.su.domains/ElemStatLearn/data.html",
        licence="unknown; published for use with The Elements of Statistical Learning",
        citation="J. J. Hull, A database for handwritten text recognition research, IEEE TPAMI 16(5), 1994",
        description="Handwritten digits from envelopes, 16 × 16 grey: 7291 for training, 2007 for testing.",
        size="2.3 MB",
        tree="usps/\n  zip.train.gz\n  zip.test.gz",
        roots=("usps",),
        markers=("zip.train.gz", "zip.test.gz"),
        sources=(
            Source(
                "https://hastie.su.domains/ElemStatLearn/datasets/zip.train.gz",
                "usps/zip.train.gz",
                "sha256:66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
            ),
            Source(
                "https://hastie.su.domains/ElemStatLearn/datasets/zip.test.gz",
                "usps/zip.test.gz",
                "sha256:8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
            ),
        ),
    ),
    DatasetInfo(
        name="stanford40",
        title="Stanford 40",
        home_page="http://vision.stanford.edu/Datasets/40actions.html",
        licence="unknown; the home page states none, images come from the web",
        citation="B. Yao, X. Jiang, A. Khosla, A. L. Lin, L. J. Guibas and L. Fei-Fei, Human Action "
        "Recognition by Learning Bases of Action Attributes and Parts, ICCV 2011",
        description="9532 photographs of 40 human actions; 100 per class for training (4000), the rest (5532) "
        "for testing.",
        size="about 0.3 GB",
        tree="stanford40/\n  JPEGImages/\n    applauding_001.jpg …\n  ImageSplits/\n    actions.txt\n"
        "    applauding_train.txt\n    applauding_test.txt …",
        roots=("stanford40", "Stanford40"),
        markers=("JPEGImages", "ImageSplits", "ImageSplits/actions.txt"),
        sources=(
            Source(
                "http://vision.stanford.edu/Datasets/Stanford40_JPEGImages.zip",
                "stanford40/Stanford40_JPEGImages.zip",
                archive=True,
            ),
            Source(
                "http://vision.stanford.edu/Datasets/Stanford40_ImageSplits.zip",
                "stanford40/Stanford40_ImageSplits.zip",
                archive=True,
            ),
        ),
    ),
    DatasetInfo(
        name="cub200",
        title="CUB-200-2011",
        home_page="https://data.caltech.edu/records/65de6-vp158",
        licence="unknown; images belong to their photographers, for non-commercial research and education",
        citation="C. Wah, S. Branson, P. Welinder, P. Perona and S. Belongie, The Caltech-UCSD "
        "Birds-200-2011 Dataset, California Institute of Technology, CNS-TR-2011-001, 2011",
        description="11788 photographs of 200 bird species: 5994 for training, 5794 for testing.",
        size="1.2 GB",
        tree="cub200_2011/\n  CUB_200_2011/\n    classes.txt\n    images.txt\n    image_class_labels.txt\n"
        "    train_test_split.txt\n    images/\n      001.Black_footed_Albatross/ …",
        roots=("cub200_2011/CUB_200_2011", "CUB_200_2011", "cub200_2011"),
        markers=("classes.txt", "images.txt", "image_class_labels.txt", "train_test_split.txt", "images"),
        sources=(
            Source(
                "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
                "cub200_2011/CUB_200_2011.tgz",
                "sha256:0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081",
                archive=True,
            ),
        ),
    ),
    DatasetInfo(
        name="aircraft",
        title="FGVC-Aircraft",
        home_page="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/",
        licence="non-commercial research only; photographers keep their copyright",
        citation="S. Maji, J. Kannala, E. Rahtu, M. Blaschko and A. Vedaldi, Fine-Grained Visual "
        "Classification of Aircraft, arXiv:1306.5151, 2013",
        description="10000 photographs of 100 aircraft variants: 6667 for training (with the validation "
        "part), 3333 for testing.",
        size="2.75 GB",
        tree="fgvc_aircraft/\n  fgvc-aircraft-2013b/\n    data/\n      variants.txt\n      "
        "images_variant_trainval.txt\n      images_variant_test.txt\n      images/\n        0034309.jpg …",
        roots=("fgvc_aircraft/fgvc-aircraft-2013b", "fgvc-aircraft-2013b", "fgvc_aircraft"),
        markers=(
            "data/variants.txt",
            "data/images_variant_trainval.txt",
            "data/images_variant_test.txt",
            "data/images",
        ),
        sources=(
            Source(
                "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
                "fgvc_aircraft/fgvc-aircraft-2013b.tar.gz",
                "md5:d4acdd33327262359767eeaa97a4f732",
                archive=True,
            ),
        ),
    ),
    DatasetInfo(
        name="cars",
        title="Stanford Cars",
        home_page="https://ai.stanford.edu/~jkrause/cars/car_dataset.html (gone)",
        licence="unknown; the former home page allowed non-commercial research",
        citation="J. Krause, M. Stark, J. Deng and L. Fei-Fei, 3D Object Representations for Fine-Grained "
        "Categorization, 3dRR workshop at ICCV 2013",
        description="16185 photographs of 196 car models: 8144 for training, 8041 for testing.",
        size="1.9 GB",
        tree="stanford_cars/\n  cars_test_annos_withlabels.mat\n  devkit/\n    cars_meta.mat\n"
        "    cars_train_annos.mat\n  cars_train/\n    00001.jpg …\n  cars_test/\n    00001.jpg …",
        roots=("stanford_cars",),
        markers=(
            "cars_test_annos_withlabels.mat",
            "devkit/cars_meta.mat",
            "devkit/cars_train_annos.mat",
            "cars_train",
            "cars_test",
        ),
        unavailable="Stanford Cars has no working public link any more: its home page is gone. Put your own "
        "copy into the expected tree, which is the one that torchvision.datasets.StanfordCars reads.",
    ),
)

REGISTRY = {entry.name: entry for entry in _ENTRIES}


def dataset_info(name: str) -> DatasetInfo:
    """Registry entry of a name.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known names.

    Examples
    --------
    >>> from ancr.datasets import dataset_info
    >>> dataset_info("cub200").title
    'CUB-200-2011'
    """
    if name not in REGISTRY:
        raise ValueError(f"name={name!r} is not one of the data sets {', '.join(REGISTRY)}")
    return REGISTRY[name]
